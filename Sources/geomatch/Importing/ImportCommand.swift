import ArgumentParser

/// `geomatch import …`: files into a dataset.
struct ImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Import files into the dataset, in as many requests as it takes.",
        discussion: """
            Examples:
              geomatch --dataset city --client admin import structure city.geojson
              geomatch --dataset city import places --osm pois.geojson
              geomatch --dataset city import geofences zones.geojson
            """,
        subcommands: [StructureImportCommand.self, PlaceImportCommand.self, GeofenceImportCommand.self])
}
