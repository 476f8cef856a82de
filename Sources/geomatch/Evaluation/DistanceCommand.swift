import ArgumentParser
import Geodesy
import Wire

/// `geomatch eval distance`
struct DistanceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "distance",
        abstract: "The geodesic distance of two points on WGS 84, in metres.",
        usage: "geomatch eval distance LAT1 LON1 LAT2 LON2\ngeomatch eval distance -",
        discussion: """
            Degrees; negative numbers may follow `--`, but need not. Lines: {"from":[lat,lon],"to":[lat,lon]}.

            Examples:
              geomatch eval distance 48.137 11.575 52.52 13.405
              geomatch eval distance -- -33.87 151.21 -36.85 174.76
              echo '{"from":[0,0],"to":[0,1]}' | geomatch eval distance -
            """)

    @OptionGroup
    var output: OutputOptions

    @Argument(parsing: .allUnrecognized, help: ArgumentHelp("Four numbers, or -.", valueName: "arguments"))
    var words: [String] = []

    /// Without the `--` that the parser leaves here, where unknown options count as arguments.
    private var arguments: [String] { words.filter { $0 != "--" } }

    func validate() throws { try check(arguments, wanted: "LAT1 LON1 LAT2 LON2") }

    func run() throws {
        if arguments == ["-"] {
            var lines = JSONLines(DistanceEvaluation())
            return try lines.run()
        }
        let numbers = arguments.map(Self.number)
        try DistanceEvaluation().printResult(
            of: ["from": .array(Array(numbers[..<2])), "to": .array(Array(numbers[2...]))], asJSON: output.json)
    }

    /// A number, also one that JSON writes otherwise (`+1`, `.5`); else the text, which is refused.
    private static func number(_ text: String) -> JSONValue {
        guard text.utf8.allSatisfy({ "+-.eE0123456789".utf8.contains($0) }), let number = Double(text) else {
            return .string(text)
        }
        return .double(number)
    }
}

/// Two points and what lies between them.
struct DistanceEvaluation: Evaluation {
    func result(of arguments: JSONObject) throws(WireError) -> JSONValue {
        let from = try point("from", in: arguments)
        let to = try point("to", in: arguments)
        return .double(
            Geodesic.distance(
                fromLatitude: from.latitude, fromLongitude: from.longitude, toLatitude: to.latitude, toLongitude: to.longitude))
    }

    private func point(_ key: String, in arguments: JSONObject) throws(WireError) -> (latitude: Double, longitude: Double) {
        guard let value = arguments[key] else { throw WireError(.invalid, "`\(key)` is required", field: key) }
        guard let pair = value.asArray, pair.count == 2, let latitude = pair[0].asDouble, let longitude = pair[1].asDouble else {
            throw WireError(.invalid, "`\(key)` must be [latitude, longitude], two numbers", field: key)
        }
        guard Position.isValid(latitude: latitude, longitude: longitude) else {
            throw WireError(
                .invalid, "`\(key)` must have a latitude from -90 to 90 and a longitude from -180 to 180", field: key)
        }
        return (latitude, longitude)
    }
}
