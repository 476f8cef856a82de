import ArgumentParser
import GeomatchClient

/// `geomatch demo …`: something to look at.
struct DemoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Publish a simulation, for something to look at.",
        discussion: """
            Examples:
              geomatch demo building
              geomatch --dataset museum demo building --speed 300 --people 50
              geomatch demo city
            """,
        subcommands: [BuildingDemoCommand.self, CityDemoCommand.self])
}

/// Where the daemon's page shows what a demo does.
enum DemoPage {
    /// Over MQTT nobody says where the daemon's HTTP listens, so this is where it listens by default.
    static func hint(_ configuration: GeomatchConfiguration) -> String {
        let isUsual = !configuration.isHTTP
        let address = isUsual ? "http://localhost:8080" : configuration.brokerName
        return
            "dataset \(configuration.dataset); the page shows it: \(address)/?client=\(configuration.client)#\(configuration.dataset)"
            + (isUsual ? " (`http listen=` in the daemon's log says where, if elsewhere)" : "")
    }
}
