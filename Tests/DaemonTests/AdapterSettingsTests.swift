import LiveTopics
import Testing
import Wire

@testable import MQTTDoor
@testable import geomatchd
@testable import Records

@Suite("The key adapters[]")
struct AdapterSettingsTests {
    private static let two = """
        adapters:
          - {filter: owntracks/+/+/#, format: OwnTracks, dataset: demo, room: "$2"}
          - filter: espresense/devices/+/+
            format: espresense
            dataset: $1
            location: $(name)
            floor:
        """

    @Test("Entries are read in both forms of YAML, and printed so that they are read back")
    func entries() throws {
        let settings = try read(file: Self.two)
        #expect(settings.adapters.map(\.format) == ["owntracks", "espresense"])
        #expect(settings.adapters[1].members.map(\.key) == ["filter", "format", "dataset", "location"])
        #expect(settings.reservedDatasets == ["owntracks": "owntracks/+/+/#", "espresense": "espresense/devices/+/+"])
        let again = try read(file: settings.text)
        #expect(again.adapters == settings.adapters && again.text == settings.text)
        for text in ["adapters:", "adapters: []", "adapters: ~", "adapters:\n#  - filter: x"] {
            #expect(try read(file: text).text == Settings().text, "\(text)")
        }
    }

    @Test("Values of any characters are read back as they were printed")
    func characters() throws {
        for room in ["a: b", "# x", "'", "\"", "\\", "é\u{1F600}", "- a", "null", " "] {
            let quoted = room.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
            let settings = try read(file: "adapters: [{filter: a/+, format: json, dataset: d, room: \"\(quoted)\"}]")
            #expect(settings.adapters[0].members.last?.value == room)
            #expect(try read(file: settings.text).adapters == settings.adapters)
        }
    }

    struct Wrong: Sendable, CustomTestStringConvertible {
        var text: String
        var key: String
        var says: [String]
        var testDescription: String { text }
    }

    @Test(
        "A wrong entry is refused with its key, what was read and what is allowed",
        arguments: [
            Wrong(text: "adapters: x", key: "adapters", says: ["filter, format, dataset"]),
            Wrong(text: "adapters: {filter: a}", key: "adapters", says: ["filter, format, dataset"]),
            Wrong(text: "adapters: [a]", key: "adapters[0]", says: ["filter, format, dataset"]),
            Wrong(text: "adapters: [{filter: [a]}]", key: "adapters[0].filter", says: ["plain value"]),
            Wrong(text: "adapters: [{}]", key: "adapters[0].filter", says: ["required"]),
            Wrong(
                text: "adapters: [{filter: a/+, format: xml, dataset: d}]", key: "adapters[0].format",
                says: ["`xml`", "owntracks", "json"]),
            Wrong(text: "adapters: [{filter: a/b+, format: json, dataset: d}]", key: "adapters[0].filter", says: ["`a/b+`"]),
            Wrong(
                text: "adapters: [{filter: a/+, format: json, dataset: d, rooms: x}]", key: "adapters[0].rooms",
                says: ["no such key", "room"]),
            Wrong(
                text:
                    "adapters:\n - {filter: a/+, format: json, dataset: d}\n - {filter: b/#, format: json, dataset: d}\n - {filter: a/#, format: json, dataset: e}",
                key: "adapters[2].filter", says: ["`a/#`", "`a/+`"]),
            Wrong(
                text: "datasets: [d]\nadapters: [{filter: d/+, format: json, dataset: e}]", key: "adapters[0].filter",
                says: ["`d/+`", "`d/#`"]),
            Wrong(
                text: "adapters: [{filter: +/tele, format: json, dataset: d}]", key: "adapters[0].filter",
                says: ["`+/tele`", "`{dataset}/#`"]),
            Wrong(
                text: "topics: {prefix: s}\nadapters: [{filter: s/geomatch/x, format: json, dataset: d}]",
                key: "adapters[0].filter", says: ["`s/geomatch/#`"]),
        ])
    func wrong(_ row: Wrong) throws {
        let error = try #require(refusal(file: row.text))
        #expect(error.key == row.key, "\(error)")
        for text in row.says { #expect(error.problem.contains(text), "\(error)") }
    }

    @Test("--check-config ends with 78 naming both filters, --print-config shows entries, --help lists the formats")
    func program() throws {
        let overlapping = "adapters: [{filter: a/+, format: json, dataset: d}, {filter: a/b, format: json, dataset: d}]"
        let said = try geomatchd(["--check-config", "--config", "f.yaml"], files: ["f.yaml": overlapping])
        #expect(said.code == 78 && said.error.hasPrefix("geomatchd: f.yaml: adapters[1].filter: "), "\(said)")
        #expect(said.error.contains("`a/b`") && said.error.contains("`a/+`"))
        let printed = try geomatchd(["--print-config", "--config", "f.yaml"], files: ["f.yaml": Self.two])
        #expect(printed.code == 0 && printed.out.contains("\n  - filter: \"owntracks/+/+/#\"\n    format: \"owntracks\"\n"))
        let help = try geomatchd(["--help"]).out
        for adapter in AdapterFormat.all {
            #expect(help.contains("\(adapter.format.name) ") && help.contains(adapter.format.usualFilter))
        }
    }

    @Test("Adapters' topics come exactly once, beside those of the daemon")
    func filters() throws {
        let settings = try read(file: Self.two)
        for every in [true, false] {
            let wanted = BrokerFilters.wanted(
                datasets: ["d"], readsEveryDataset: every, prefix: "", inputQoS: 1, mark: "geomatch/geomatch/mark/x",
                adapters: settings.adapters)
            #expect(wanted.allSatisfy { $0.qos == 1 || BrokerFilters.isOptional($0.filter, prefix: "") })
            let filters = try wanted.map { try TopicFilter($0.filter) }
            for topic in [
                "owntracks/a/b", "owntracks/a/b/event", "owntracks/a/b/c/d", "owntracks/a/b/c/d/e/f", "owntracks/a/b/c/d/e/f/g",
                "espresense/devices/x/kitchen", "d/a",
            ] {
                #expect(filters.count { $0.matches(topic) } == 1, "\(topic)")
            }
            for topic in ["owntracks/a", "espresense/rooms/x/status", "other/a/b"] {
                #expect(!filters.contains { $0.matches(topic) }, "\(topic)")
            }
        }
    }
}
