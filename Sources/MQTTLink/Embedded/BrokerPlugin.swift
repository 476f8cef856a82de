import Glibc

/// Where geomatch's plugin for mosquitto is.
public enum BrokerPlugin {
    /// What SwiftPM calls the product `geomatch-broker-plugin`.
    static let fileName = "libgeomatch-broker-plugin.so"

    /// Beside the running program, or in `../lib/geomatch` where programs and libraries lie apart; `nil` where it is in neither
    /// place, or in one that mosquitto's configuration cannot name.
    public static func find() -> String? {
        guard let program = realpath("/proc/self/exe", nil) else { return nil }
        defer { free(program) }
        let folder = String(cString: program).split(separator: "/").dropLast().map(String.init)
        let places: [[String]] = [folder + [fileName], folder.dropLast() + ["lib", "geomatch", fileName]]
        return places.map { "/" + $0.joined(separator: "/") }.first { (path: String) in
            access(path, R_OK) == 0 && !path.utf8.contains { $0 <= 0x20 }
        }
    }
}
