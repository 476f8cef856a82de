import ArgumentParser
import Foundation
import OpeningHours
import Wire

/// `geomatch import places FILE`: points of interest.
struct PlaceImportCommand: ParsableCommand {
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
            brand:wikidata becomes the chain, and stands for those of the same brand that lack it; where no place or several tell it, \
            the brand does. opening_hours become the opening hours. What has none of these tags is left out.

            What is refused is named; the exit code is then 1. Importing again replaces by id, so an import that was cut off is \
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

    @Flag(help: "Tell the progress each second, also where standard error is no terminal.")
    var progress = false

    @Argument(help: ArgumentHelp("GeoJSON files, or - for standard input.", valueName: "file"))
    var files: [String]

    func validate() throws {
        guard !files.isEmpty else { throw ValidationError("a file is needed, or - for standard input") }
        if let timeZone, Zone.named(timeZone) == nil {
            throw ValidationError("--time-zone takes the name of an IANA time zone, not \(PlainText.printable(timeZone))")
        }
    }

    func run() throws {
        let destination = try connection.destination()
        var total: Int? = 0
        var readers: [FeatureReader] = []
        for file in files {
            let (descriptor, size) = try Self.open(file)
            if let size { total? += size } else { total = nil }
            readers.append(FeatureReader(descriptor: descriptor))
        }
        let importer = PlaceImporter(
            destination, PlaceRequests(readers, PlaceRequests.Options(isOSM: osm, timeZone: timeZone)),
            progress: ImportProgress(total: total, isWanted: progress))
        guard try importer.run() else { throw CommandFailure.unavailable("interrupted; importing again does no harm") }
        show(importer)
        let refusedCount = importer.refusedCount + importer.unreadableCount
        if refusedCount > 0 { throw CommandFailure.failed("\(refusedCount) features were refused") }
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

    private func show(_ importer: PlaceImporter) {
        let refused = importer.unreadable + importer.refused
        if output.json {
            let result = JSONValue.object([
                "imported": .integer(importer.imported), "replaced": .integer(importer.replaced),
                "refused": .array(refused), "warnings": .array(importer.warnings),
            ])
            return StandardOutput.print(String(decoding: result.serialised(), as: UTF8.self))
        }
        for refusal in refused {
            let id = refusal.member("id").map { $0 == .null ? "a feature" : PlainText.of($0) } ?? "a feature"
            StandardError.line("refused: \(id): \(refusal.member("error").map(ErrorText.of) ?? "")")
        }
        for warning in importer.warnings { StandardError.line("warning: \(PlainText.of(warning))") }
        for (all, shown, what) in [
            (importer.refusedCount + importer.unreadableCount, refused.count, "refusals"),
            (importer.warningCount, importer.warnings.count, "warnings"),
        ] where all > shown {
            StandardError.line("and \(all - shown) more \(what)")
        }
        var text = "imported \(importer.imported), replaced \(importer.replaced)"
        if importer.categoryCount > 0 { text += ", categories \(importer.categoryCount)" }
        if importer.leftOutCount > 0 { text += ", left out \(importer.leftOutCount) that are no place" }
        StandardOutput.print(text)
    }
}
