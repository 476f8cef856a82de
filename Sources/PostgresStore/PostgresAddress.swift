import CPostgres
import Store

/// Where a PostgreSQL database is, and who logs in.
public struct PostgresAddress: Sendable, Equatable {
    let url: String
    /// Hosts, ports and database, without credentials: for people.
    public let name: String
    public let hasPassword: Bool

    /// - Parameter url: `postgres://user:password@host:port,host/database`, or `postgresql://…`; any option of libpq may follow a `?`.
    /// - Returns: nil where libpq does not understand it, or it names no database.
    public init?(_ url: String) {
        guard url.hasPrefix("postgres://") || url.hasPrefix("postgresql://") else { return nil }
        guard let options = PQconninfoParse(url, nil) else { return nil }
        defer { PQconninfoFree(options) }
        var given: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { given[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        guard let database = given["dbname"], !database.isEmpty else { return nil }
        self.url = url
        let hosts = (given["host"] ?? "").split(separator: ",", omittingEmptySubsequences: false)
        let ports = (given["port"] ?? "").split(separator: ",", omittingEmptySubsequences: false)
        let places = hosts.enumerated().map { index, host in
            let port = ports.count > index ? ports[index] : ports.first ?? ""
            return port.isEmpty ? String(host) : "\(host):\(port)"
        }
        name = "postgres://\(places.joined(separator: ","))/\(database)"
        hasPassword = given["password"] != nil
    }
}
