import ArgumentParser
import Wire

/// `geomatch import structure FILE`: venues, buildings, floors, rooms and locations.
struct StructureImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "structure",
        abstract: "Import venues, buildings, floors, rooms and locations, as an administrator.",
        usage: "geomatch import structure FILE [--ids ids|names]",
        discussion: """
            FILE is a GeoJSON FeatureCollection, or an IMDF archive: a zip file, or the folder it unpacks to.

            The features of a FeatureCollection carry in their properties: level (venue, building, floor, room or location), id, \
            parents ({"venue":"v","building":"b"} or ["v","b"]), and where wanted name, floorIndex and capacity. Their geometry is \
            the outline: a Polygon or MultiPolygon; a Point or null is allowed.

            Of an IMDF archive, buildings get the outline of their footprint, levels become floors with their ordinal as the floor \
            index, units become rooms, and fixtures, kiosks, amenities and occupants become locations.

            Rejected features are listed on standard error; the exit code is then 1. Importing again replaces what is there.

            Examples:
              geomatch --dataset city --client admin import structure city.geojson
              geomatch --dataset mall --client admin import structure mall.zip --ids names
            """)

    @OptionGroup(title: "Connection options")
    var connection: ConnectionOptions

    @OptionGroup
    var output: OutputOptions

    @Option(help: ArgumentHelp("Of an IMDF archive: the features' ids, or their names as ids.", valueName: "ids|names"))
    var ids: IMDF.Naming = .ids

    @Flag(help: "Report the progress each second, also where standard error is no terminal.")
    var progress = false

    @Argument(help: ArgumentHelp("A GeoJSON file, an IMDF folder or zip file, or - for standard input.", valueName: "file"))
    var file: String

    func run() async throws {
        let configuration = try connection.configuration()
        let source = try StructureSource(path: file, naming: ids)
        for note in source.notes { StandardError.line(PlainText.printable(note)) }
        var unreadable = source.unreadable
        var features: [[UInt8]] = []
        for feature in source.features {
            let bytes = feature.serialised()
            if bytes.count <= StructureImporter.requestBytesMax {
                features.append(bytes)
            } else {
                unreadable.append("a feature of \(bytes.count) bytes does not fit into a request of 256 KiB")
            }
        }
        for reason in unreadable { StandardError.line("refused: \(PlainText.printable(reason))") }
        guard !features.isEmpty else {
            throw CommandFailure.failed("\(PlainText.printable(file)) holds no feature that can be imported")
        }
        let importer = StructureImporter(features: features)
        let tally = try await withClient(configuration) { try await importer.run($0, isProgressWanted: progress) }
        guard let tally else { throw CommandFailure.unavailable("interrupted; importing again does no harm") }
        tally.show(asJSON: output.json)
        let refusedCount = tally.refusedCount + unreadable.count
        if refusedCount > 0 { throw CommandFailure.failed("\(refusedCount) features were refused") }
    }
}

extension IMDF.Naming: ExpressibleByArgument {}
