import Foundation
import Testing
import Wire

@testable import Datasets
@testable import Records

@Suite("Reference")
struct ReferenceTests {
    /// A page of the folder `docs`.
    private func page(_ name: String) throws -> String {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appendingPathComponent("docs/\(name)"), encoding: .utf8)
    }

    @Test("Every request has a place in the reference", arguments: RequestTable.rows.map(\.name))
    func requests(_ name: String) throws {
        #expect(try page("requests.md").contains("`\(name)`"))
    }

    @Test("Every request has a row in the catalogue, and every row is a request")
    func catalogue() {
        #expect(Set(RequestTable.rows.map(\.name)) == Set(RequestCatalogue.all.map(\.name)))
    }

    @Test("Every error stands in the reference with its code", arguments: ErrorCode.allCases)
    func errors(_ error: ErrorCode) throws {
        #expect(try page("requests.md").contains("\n| `\(error.rawValue)` | \(error.code) | "))
    }

    @Test("Every kind of diagnostics stands in the reference", arguments: DiagnosticsWindow.Kind.allCases)
    func diagnostics(_ kind: DiagnosticsWindow.Kind) throws {
        #expect(try page("live-data.md").contains("\n| `\(kind.rawValue)` | "))
    }

    @Test("Every known domain stands in the reference", arguments: KnownDomain.allCases)
    func domains(_ domain: KnownDomain) throws {
        #expect(try page("live-data.md").contains("\n| `\(domain.rawValue)` | "))
    }

    @Test("Every counter of a dataset's status stands in the reference")
    func counters() throws {
        var writer = JSONWriter()
        writer.beginObject()
        StatusFigures(
            counters: DatasetCounters(), devices: 0, publications: 0, subscriptions: 0, liveSubscriptions: 0, circumstances: 0,
            places: 0
        ).encode(into: &writer)
        writer.endObject()
        let status = try #require(try JSONValue.parse(writer.bytes).asObject)
        let names = status.members.flatMap { member in
            member.value.asObject.map { object in object.members.map { "\(member.key).\($0.key)" } } ?? [member.key]
        }
        #expect(names.count == 20)
        let text = try page("operating.md")
        for name in names { #expect(text.contains("`\(name)`"), "\(name)") }
    }

    @Test("Every adapter's format stands in the reference with its usual filter, and in the readme")
    func formats() throws {
        let (text, readme) = (try page("adapters.md"), try page("../README.md"))
        for format in AdapterFormat.all.map({ $0.format }) {
            #expect(text.contains("\n| `\(format.name)`") && text.contains("| `\(format.usualFilter)` |"), "\(format.name)")
            #expect(readme.contains("`\(format.name)`"), "\(format.name)")
        }
    }
}
