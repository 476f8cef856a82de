import ArgumentParser
import Datasets
import Foundation
import Testing

@testable import geomatchd
@testable import Records

@Suite("Reference")
struct ReferenceTests {
    private func file(_ path: String) throws -> String {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    @Test("Every key of the configuration stands in the reference", arguments: SettingsKey.all.map(\.name))
    func keys(_ key: String) throws {
        let text = try file("docs/operating.md")
        #expect(text.contains("`\(key)`"))
        guard SettingsKey.all.first(where: { $0.name == key })?.isFileOnly == false else { return }
        #expect(text.contains("\n| `\(key)` | `\(SettingsKey.environmentName(key))` | "))
    }

    @Test("Every limit stands in the reference with its default and what is allowed")
    func limits() throws {
        let text = try file("docs/operating.md")
        for limit in SettingsLimit.all {
            let (least, most) = (limit.allowed.lowerBound, limit.allowed.upperBound)
            let row = "\n| `\(limit.key)` | \(HubLimits()[keyPath: limit.path]) | \(least)…\(most) | "
            #expect(text.contains(row), "\(row)")
        }
    }

    @Test("The manual page names every flag that help names")
    func manual() throws {
        let page = try file("deploy/man/geomatchd.8").replacing("\\-", with: "-")
        let flags = Geomatchd.helpMessage(columns: 200).matches(of: /^ +(?:-h, )?(--[a-z-]+)/.anchorsMatchLineEndings()).map(\.1)
        #expect(flags.count == 22)
        for flag in flags { #expect(page.contains(flag), "\(flag)") }
    }
}
