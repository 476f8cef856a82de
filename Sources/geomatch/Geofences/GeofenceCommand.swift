import ArgumentParser

/// `geomatch geofence export`; its other verbs are requests.
struct GeofenceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "geofence", abstract: "Requests about geofences, and `export` of them to a file.",
        discussion: """
            `geomatch help geofence` lists the requests.

            Examples:
              geomatch geofence export > geofences.geojson
              geomatch geofence export --owntracks > waypoints.otrw
            """,
        subcommands: [GeofenceExportCommand.self])
}
