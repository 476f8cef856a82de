import ArgumentParser
import Ranging
import Wire

/// `geomatch eval ranging`
struct RangingCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ranging",
        abstract: "Estimate a beacon's distance and proximity band from RSSI.",
        usage: "geomatch eval ranging RSSI...\ngeomatch eval ranging -",
        discussion: """
            Readings in dBm, a second apart; 0 is none. Lines: {"samples":[{"rssi","timestamp"}],"txPower"?,"n"?,"filter"?}, with \
            timestamps in milliseconds.

            Log-distance path loss with n = 2.7 and -59 dBm at 1 m, over the last 20 s without the strongest and the weakest tenth. \
            `distance` is missing where nothing was measured.

            Examples:
              geomatch eval ranging -70 -68 -75 -71
              geomatch eval ranging --n 2 --tx-power=-65 --filter none -70
              echo '{"samples":[{"rssi":-70,"timestamp":0}],"filter":"kalman"}' |
                  geomatch eval ranging -
            """)

    @OptionGroup
    var output: OutputOptions

    @Option(help: ArgumentHelp("Exponent of the path loss, 1 to 6. (default: 2.7)", valueName: "N"))
    var n: Double?

    @Option(parsing: .unconditional, help: ArgumentHelp("dBm at 1 m, below 0. (default: -59)", valueName: "DBM"))
    var txPower: Double?

    @Option(help: ArgumentHelp("trimmedMean, kalman or none. (default: trimmedMean)", valueName: "FILTER"))
    var filter: String?

    @Argument(parsing: .allUnrecognized, help: ArgumentHelp("Readings in dBm, or -.", valueName: "rssi"))
    var words: [String] = []

    /// Without the `--` that the parser leaves here, where unknown options count as arguments.
    private var arguments: [String] { words.filter { $0 != "--" } }

    func validate() throws {
        guard !arguments.isEmpty else { throw ValidationError("RSSI is needed, or - for standard input") }
        if let option = arguments.first(where: { $0.hasPrefix("--") }) {
            throw ValidationError("Unknown option '\(PlainText.printable(option))'")
        }
    }

    func run() throws {
        if arguments == ["-"] {
            var lines = JSONLines(RangingEvaluation())
            return try lines.run()
        }
        let samples = arguments.enumerated().map { place, word -> JSONValue in
            .object(["rssi": Double(word).map { .double($0) } ?? .string(word), "timestamp": .integer(Int64(place) * 1000)])
        }
        var parameters: JSONObject = ["samples": .array(samples)]
        parameters["n"] = n.map { .double($0) }
        parameters["txPower"] = txPower.map { .double($0) }
        parameters["filter"] = filter.map { .string($0) }
        try RangingEvaluation().printResult(of: parameters, asJSON: output.json)
    }
}

/// Readings of one beacon by one observer.
struct RangingEvaluation: Evaluation {
    func result(of arguments: JSONObject) throws(WireError) -> JSONValue {
        let parameters = Parameters(arguments)
        var settings = RangingSettings.standard
        if let n = try parameters.optionalNumber("n", in: RangingSettings.exponents) { settings.n = n }
        let names = RangingSettings.Filter.allCases.map(\.rawValue)
        if let word = try parameters.optionalWord("filter", of: names), let filter = RangingSettings.Filter(rawValue: word) {
            settings.filter = filter
        }
        let txPower = try parameters.optionalNumber("txPower", in: -200...0, unit: "dBm")
        if txPower == 0 { throw parameters.error("txPower", "must be below 0 dBm") }
        var samples: [(rssi: Double?, at: Int64)] = []
        for (place, value) in try parameters.array("samples").enumerated() {
            guard let object = value.asObject else {
                throw WireError(.invalid, "`samples[\(place)]` must be an object", field: "samples[\(place)]")
            }
            let sample = Parameters(object, path: "samples[\(place)].")
            samples.append((try sample.optionalNumber("rssi", in: -200...20, unit: "dBm"), try timestamp(sample)))
        }
        var ranger = Ranger(settings)
        let beacon = BeaconKey(high: 0, low: 0, major: 0, minor: 0)
        // Of one instant, in the order they were given.
        for sample in samples.sorted(by: { $0.at < $1.at }) {
            ranger.take(Sighting(beacon: beacon, rssi: sample.rssi, txPower: txPower), at: sample.at)
        }
        var result = JSONObject()
        result["distance"] = ranger.distance.map { .double(($0 * 1e6).rounded() / 1e6) }
        result["proximity"] = .string(ranger.band.name)
        return .object(result)
    }

    /// Milliseconds; 0 where it was not given.
    private func timestamp(_ sample: Parameters) throws(WireError) -> Int64 {
        guard let number = try sample.optionalNumber("timestamp", in: 0...8.64e15) else { return 0 }
        return Int64(number)
    }
}
