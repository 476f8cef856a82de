import ArgumentParser
import Foundation
import Testing

@testable import geomatch

@Suite("Help")
struct HelpTests {
    /// Every command, with those below it.
    private static let commands: [any ParsableCommand.Type] = all(Geomatch.self)

    private static func all(_ command: any ParsableCommand.Type) -> [any ParsableCommand.Type] {
        [command] + command.configuration.subcommands.flatMap(all)
    }

    @Test("Examples and tables of every help text fit into 80 columns: what is wrapped cannot be pasted")
    func width() {
        for command in Self.commands {
            let lines = command.configuration.discussion.split(separator: "\n")
            for line in lines where line.hasPrefix(" ") {
                #expect(line.count <= 80, "\(command.configuration.commandName ?? ""): \(line)")
            }
        }
    }

    @Test("The order of arguments knows every command")
    func arrangement() {
        func names(_ command: any ParsableCommand.Type) -> Set<String> {
            Set(command.configuration.subcommands.compactMap { $0.configuration.commandName })
        }
        #expect(Set(Invocation.subcommands) == names(Geomatch.self).union(["help"]))
        #expect(Set(Invocation.evaluations) == names(EvalCommand.self))
        #expect(Set(Invocation.imports) == names(ImportCommand.self))
        #expect(Set(Invocation.lookups) == names(PlacesCommand.self))
        #expect(Set(Invocation.beacons) == names(BeaconsCommand.self))
        #expect(Set(Invocation.demos) == names(DemoCommand.self))
    }

    @Test("The manual page names every command and every option they share")
    func manual() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let page = try String(contentsOf: root.appendingPathComponent("deploy/man/geomatch.1"), encoding: .utf8)
            .replacing("\\-", with: "-")
        for command in Geomatch.configuration.subcommands {
            let name = try #require(command.configuration.commandName)
            #expect(page.contains(".B \(name)"), "\(name)")
        }
        for option in Invocation.optionsWithValue { #expect(page.contains(option), "\(option)") }
    }
}
