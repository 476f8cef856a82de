import ArgumentParser
import Foundation
import Testing
import Wire

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

    static func names(_ command: any ParsableCommand.Type) -> [String] {
        command.configuration.subcommands.compactMap { $0.configuration.commandName }
    }

    @Test("Every subcommand that does something takes --json, and the first help says so")
    func json() {
        let words = Geomatch.helpMessage().split { $0.isWhitespace }.joined(separator: " ")
        #expect(words.contains("Every subcommand takes --json"))
        for command in Self.commands where command.configuration.subcommands.isEmpty {
            #expect(command.helpMessage().contains("--json"), "\(command.configuration.commandName ?? "")")
        }
    }

    @Test("The common options are those that may stand before a subcommand")
    func commonOptions() {
        let usage = RequestCommand.helpMessage()
        let options = usage.split { !$0.isLetter && $0 != "-" }.filter { $0.hasPrefix("--") }.map(String.init)
        let own = ["--json", "--all", "--help", "--version"]
        #expect(Set(options).subtracting(own).subtracting(["--"]) == Set(ConnectionOptions.names))
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
        for option in ConnectionOptions.names + ["--json"] { #expect(page.contains(option), "\(option)") }
    }

    @Test("The pages of help fit a terminal, their examples are understood, and no error is left out")
    func sheets() throws {
        for sheet in CheatSheet.allCases {
            #expect(CheatSheet.asked(for: ["help", sheet.rawValue]) == sheet.text)
            for line in sheet.text.split(separator: "\n") { #expect(line.count <= 90, "\(line)") }
        }
        for code in ErrorCode.allCases { #expect(CheatSheet.errors.text.contains("\(code.rawValue) "), "\(code)") }
        /// The lines of examples, without what is said of them.
        func examples(of sheet: CheatSheet) -> [String] {
            let lines = sheet.text.split(separator: "\n").filter { $0.hasPrefix("  ") && !$0.hasPrefix("  geomatch") }
            return lines.map { line in
                let text = line.dropFirst(2)
                return String(text[..<(text.firstRange(of: "  ")?.lowerBound ?? text.endIndex)])
            }
        }
        #expect(examples(of: .selectors).count == 8 && examples(of: .expressions).count == 11)
        for example in examples(of: .selectors) {
            let said = try geomatch("eval", "selector", example, "{}")
            #expect(said.code == 0, "\(example): \(said.error)")
        }
        for example in examples(of: .expressions) {
            let said = try geomatch("eval", "circumstance", example)
            #expect(said.code == 0, "\(example): \(said.error)")
        }
    }

    @Test("Help of requests lists their parameters with what each takes, in 80 columns where it can be wrapped")
    func requests() throws {
        let said = try geomatch("device", "create", "--help")
        #expect(said.code == 0 && said.error == "")
        #expect(said.out.hasPrefix("geomatch device create key=value ...\n\nCreate a device.\n"))
        #expect(said.out.contains("  deviceType     required: MobileDevice, PinDevice or IBeaconDevice\n"))
        #expect(said.out.contains("\n  --json  Print the result as one line of JSON.\n"))
        #expect(
            said.out.hasSuffix(
                "Example:\n  geomatch device create deviceType=PinDevice id=cafe location.latitude=43.73 location.longitude=7.42\n"
            ))
        #expect(try geomatch("help", "device", "create") == said)
        #expect(try geomatch("request", "device", "create", "id=x", "-h") == said)
        #expect(
            try geomatch("device", "--help").out.contains(
                "  forget     Erase where a device was and what it met; the device stays.\n"))
        #expect(
            try geomatch("device", "creat", "--help").out.hasPrefix(
                "There is no request device creat; did you mean device create?"))
        #expect(
            try geomatch("device", "xyzzy", "--help").out.hasPrefix("There is no request device xyzzy.\n\ngeomatch device VERB"))
        #expect(
            try geomatch("help", "devcie").out.hasPrefix(
                "There is no command devcie; did you mean device?\n\ngeomatch device VERB"))
        #expect(try geomatch("help", "watch").out.hasPrefix("OVERVIEW: Print what comes in"))
        #expect(RequestHelp.asked(for: ["watch", "--help"]) == nil)
        #expect(RequestHelp.asked(for: ["device", "list"]) == nil)
    }
}
