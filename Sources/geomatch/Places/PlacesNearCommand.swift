import ArgumentParser
import Geodesy
import GeomatchClient
import Wire

/// `geomatch places near LAT LON`: the places round a position, the nearest first.
struct PlacesNearCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "near",
        abstract: "List the places round a position, the nearest first.",
        usage: "geomatch places near LAT LON [--radius METRES] [--category ID] [--chain ID]",
        discussion: """
            Metres are those to the place's point; of a place with an outline, to one inside it.

            Examples:
              geomatch --dataset city places near 43.7312 7.4197
              geomatch --dataset city places near --radius 500 --category amenity=cafe \\
                  40.7128 -74.006
              geomatch --dataset city --json places near 43.7312 7.4197 | jq '.places[].id'
            """)

    @OptionGroup(title: "Connection options")
    var connection: ConnectionOptions

    @OptionGroup
    var output: OutputOptions

    @Option(help: ArgumentHelp("How far.", valueName: "METRES"))
    var radius = 250.0

    @Option(help: ArgumentHelp("Only of this category, or below it.", valueName: "ID"))
    var category: String?

    @Option(help: ArgumentHelp("Only of this chain.", valueName: "ID"))
    var chain: String?

    @Option(help: ArgumentHelp("At most so many.", valueName: "N"))
    var limit = 50

    @Argument(help: "Degrees north, WGS 84.")
    var latitude: Degrees

    @Argument(help: "Degrees east, WGS 84.")
    var longitude: Degrees

    func validate() throws {
        guard latitude.number.magnitude <= 90, longitude.number.magnitude <= 180 else {
            throw ValidationError("\(latitude.number) \(longitude.number) is no position: ±90 and ±180 degrees are allowed")
        }
        guard radius > 0, radius <= Area.Circle.radiusMax else {
            let most = Int(Area.Circle.radiusMax)
            throw ValidationError("--radius is \(radius): more than 0 and at most \(most) metres are allowed")
        }
        guard limit > 0 else { throw ValidationError("--limit is \(limit): 1 or more is allowed") }
    }

    func run() async throws {
        var parameters: JSONObject = [
            "within": [
                "circle": [
                    "latitude": .double(latitude.number), "longitude": .double(longitude.number), "radius": .double(radius),
                ]
            ]
        ]
        parameters["categoryId"] = category.map { .string($0) }
        parameters["chainId"] = chain.map { .string($0) }
        let (found, near) = try await answer(try connection.configuration()) { [parameters] client in
            let found = try await client.pages(of: "place/list", parameters, asJSON: output.json).merged
            guard let category, found.member("places")?.asArray?.isEmpty != false else { return (found, nil as String?) }
            return (found, try await Self.category(near: category, client))
        }
        var places = (found.member("places")?.asArray ?? []).map { (metres: metres(to: $0), place: $0) }
        // The library's sort is stable: ids decide between equals.
        places.sort { $0.metres < $1.metres }
        show(places.prefix(limit))
        if let near { StandardError.line("there is no category \(PlainText.printable(category ?? "")); did you mean \(near)?") }
    }

    /// A category that may be meant by one that does not exist: one of nearly its id, or of the part behind `=`.
    private static func category(near id: String, _ client: GeomatchClient) async throws -> String? {
        let first = try await client.result(of: "category/list", ["limit": 1000], asJSON: true)
        let ids = (first.member("categories")?.asArray ?? []).compactMap { $0.member("id")?.asString }
        return nearest(to: id, of: ids)
    }

    /// - Returns: nil where the category exists.
    static func nearest(to id: String, of ids: [String]) -> String? {
        guard !ids.contains(id) else { return nil }
        if let near = Nearness.nearest(to: id, of: ids) { return PlainText.printable(near) }
        func tag(_ id: String) -> String { String(id.split(separator: "=").last ?? "") }
        let near = Nearness.nearest(to: tag(id), of: ids.map(tag))
        return near.flatMap { near in ids.first { tag($0) == near } }.map(PlainText.printable)
    }

    private func metres(to place: JSONValue) -> Double {
        guard let latitude = place.member("latitude")?.asDouble, let longitude = place.member("longitude")?.asDouble else {
            return .infinity
        }
        return Geodesic.distance(
            fromLatitude: self.latitude.number, fromLongitude: self.longitude.number, toLatitude: latitude, toLongitude: longitude
        )
    }

    private func show(_ places: ArraySlice<(metres: Double, place: JSONValue)>) {
        guard !output.json else { return StandardOutput.print(json: ["places": .array(places.map(\.place))]) }
        for (metres, place) in places { StandardOutput.print(PlaceText.line(place, metres: metres)) }
        if places.isEmpty { StandardError.line("no places within \(PlainText.decimal(radius, 0)) m") }
    }
}

/// A number that may be negative although nothing before it ends the options.
struct Degrees: ExpressibleByArgument, Sendable {
    var number: Double

    init?(argument: String) {
        guard let number = Double(argument.drop { $0 == " " }) else { return nil }
        self.number = number
    }
}

/// A place as a line for people.
enum PlaceText {
    static func line(_ place: JSONValue, metres: Double) -> String {
        let categories = (place.member("categoryIds")?.asArray ?? []).map(PlainText.of).joined(separator: ",")
        var line = "\(PlainText.decimal(metres, 0)) m  \(place.member("name").map(PlainText.of) ?? "-")  \(categories)"
        line += "  \(place.member("id").map(PlainText.of) ?? "")"
        if let hours = place.member("openingHours") { line += "  \(PlainText.of(hours))" }
        return line
    }
}
