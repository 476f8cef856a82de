import ArgumentParser
import Foundation
import OpeningHours
import Wire

/// `geomatch import places FILE`: points of interest.
struct PlaceImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "places",
        abstract: "Import places from files of any size.",
        usage: "geomatch import places FILE… [--osm] [--time-zone ZONE]",
        discussion: """
            FILE is a GeoJSON FeatureCollection, or features one on each line. It is read as it is sent: memory does not grow with \
            it, and standard input serves as well.

            A feature is a Point, a Polygon or a MultiPolygon, with the properties id, name, categoryIds, chainId, openingHours, \
            timeZone, placerank and holidays ({"PH":["2026-12-25"],"SH":[["2026-07-06","2026-08-31"]]}).

            With --osm the properties are OpenStreetMap's tags, or hold them in `tags`. amenity, shop, tourism, leisure, historic, \
            office, craft, healthcare, sport and stations become categories (amenity=cafe below amenity), which are imported too; \
            brand:wikidata becomes the chain, also of those of the same brand that lack it; where no place or several name it, \
            the brand does. opening_hours become the opening hours. What has none of these tags is left out.

            Rejected features are listed on standard error; the exit code is then 1. Importing again replaces by id, so an import that was cut off is \
            simply started again.

            Examples:
              geomatch --dataset city import places places.geojson
              geomatch --dataset city import places --osm \\
                  --time-zone Europe/Monaco pois.geojson
              zcat world.geojsonl.gz | geomatch --dataset world import places -
            """)

    @OptionGroup(title: "Connection options")
    var connection: ConnectionOptions

    @OptionGroup
    var output: OutputOptions

    @Flag(help: "The features carry OpenStreetMap's tags.")
    var osm = false

    @Option(help: ArgumentHelp("The IANA time zone of places that name none.", valueName: "ZONE"))
    var timeZone: String?

    @Flag(help: "Report the progress each second, also where standard error is no terminal.")
    var progress = false

    @Argument(help: ArgumentHelp("GeoJSON files, or - for standard input.", valueName: "file"))
    var files: [String]

    func validate() throws {
        guard !files.isEmpty else { throw ValidationError("a file is needed, or - for standard input") }
        if let timeZone, Zone.named(timeZone) == nil {
            throw ValidationError("--time-zone takes the name of an IANA time zone, not \(PlainText.printable(timeZone))")
        }
    }

    func run() async throws {
        let configuration = try connection.configuration()
        var total: Int? = 0
        var readers: [FeatureReader] = []
        for file in files {
            let (descriptor, size) = try Self.open(file)
            if let size { total? += size } else { total = nil }
            readers.append(FeatureReader(descriptor: descriptor))
        }
        let importer = PlaceImporter(
            PlaceRequests(readers, PlaceRequests.Options(isOSM: osm, timeZone: timeZone)),
            progress: ProgressLine(total: total, isWanted: progress))
        let isDone: Void? = try await withClient(configuration) { try await importer.run($0) }
        guard isDone != nil else { throw CommandFailure.unavailable("interrupted; importing again does no harm") }
        let tally = importer.tally
        var more = importer.categoryCount > 0 ? ", categories \(importer.categoryCount)" : ""
        if importer.leftOutCount > 0 { more += ", left out \(importer.leftOutCount) that are no place" }
        tally.show(asJSON: output.json, more: more)
        if tally.refusedCount > 0 { throw CommandFailure.failed("\(tally.refusedCount) features were refused") }
    }

    /// A file, and how many bytes it has where it has an end.
    private static func open(_ file: String) throws(CommandFailure) -> (descriptor: Int32, size: Int?) {
        if file == "-" { return (STDIN_FILENO, nil) }
        let descriptor = Glibc.open(file, O_RDONLY | O_CLOEXEC)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
            throw .usage("\(PlainText.printable(file)): \(String(cString: strerror(errno)))")
        }
        guard status.st_mode & S_IFMT != S_IFDIR else { throw .usage("\(PlainText.printable(file)) is a folder") }
        return (descriptor, status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : nil)
    }
}
