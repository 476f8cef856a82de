import LiveTopics
import SeededRandom
import Testing

@testable import Wire

@Suite("What an adapter's entry says")
struct AdapterRuleTests {
    private static func rule(_ filter: String, format: String = "json", _ further: (String, String)...) throws(AdapterRule
        .Problem)
        -> AdapterRule
    {
        try AdapterRule([("filter", filter), ("format", format), ("dataset", "d")] + further.map { ($0.0, $0.1) })
    }

    @Test(
        "Levels come from the filter's wildcards, the format's own id, the payload or plain text",
        arguments: [
            AdapterRow(
                "espresense", "espresense/devices/+/+", "espresense/devices/x/kitchen",
                #"{"id":"iBeacon:f7826da64fa24e988024bc5b71e0893e-1-2"}"#,
                "d/hq/-/2/kitchen/gw-kitchen/proximity {\"sightings\":[{\"proximityUUID\":\"F7826DA6-4FA2-4E98-8024-BC5B71E0893E\",\"major\":1,\"minor\":2}]}",
                with: ["venue": "hq", "floor": "2", "room": "$2", "location": "gw-$item"]),
            AdapterRow(
                "json", "s/+/#", "s/a/b/c%41", #"{"co2":400,"where":{"room":7}}"#,
                "d/$b/a/-/7/b%2Fc%2541/co2 {\"co2\":400,\"where\":{\"room\":7}}",
                with: ["domain": "co2", "venue": "$$b", "building": "$1", "room": "$(where.room)", "location": "$2"]),
            AdapterRow(
                "json", "s/+/+", "s/acme/count", #"{"count":1}"#, "acme/-/-/-/hall/-/count {\"count\":1}",
                with: ["dataset": "$1", "domain": "$2", "room": "hall", "location": "-"]),
            AdapterRow(
                "json", "s/+/+", "s/hall/temperature", "21.5", "d/-/-/-/-/hall/temperature {\"temperature\":21.5}",
                with: ["domain": "$2", "location": "$1"]),
            AdapterRow(
                "json", "s/+", "s/door", "OFF", "d/-/-/-/-/door/availability {\"available\":false}",
                with: ["domain": "availability"]),
            .refused("json", "s/+", "s/a", #"{"co2":400}"#, field: "where", with: ["domain": "co2", "room": "$(where)"]),
            .refused("json", "s/+", "s/a", #"{"where":[]}"#, field: "where", with: ["domain": "co2", "room": "$(where)"]),
            .refused("json", "s/+", "s/a b", #"{"co2":400}"#, field: "dataset", with: ["dataset": "$1"]),
            .refused("json", "s/+", "s/live", #"{"co2":400}"#, field: "dataset", with: ["dataset": "$1"]),
            .refused("json", "s/+", "s/\(String(repeating: "x", count: 129))", #"{"lat":1,"lon":1}"#, field: "location"),
            .refused("json", "s/+", "s/", #"{"domain":"-"}"#, field: "domain", with: ["domain": "$(domain)", "room": "r"]),
        ])
    func levels(_ row: AdapterRow) throws {
        // The rule, not a field of the payload, is what these name.
        if row.isRefused, ["dataset", "location", "domain"].contains(row.field) {
            let message = try #require(Adapters([row.rule]).read(topic: row.topic, payload: Array(row.payload.utf8)))
            guard case .failure(let error) = message.updates else {
                Issue.record("accepted")
                return
            }
            #expect(error.field == row.field && error.code == .invalid)
            return
        }
        try row.check()
    }

    @Test(
        "An adapter says what the domain of the topic takes; where the payload gives the domain, it asks for an object",
        arguments: [
            (
                "$2", "22,5",
                #"temperature takes a number such as 22.5 or an object such as {"temperature":22.5}: line 1, column 3: "22,5" has a decimal comma"#
            ),
            ("$(domain)", "22.5", "the payload must be a JSON object, not 22.5"),
            ("$(domain)", "warm", #"the payload is not JSON: line 1, column 1: "warm" is no value of JSON"#),
        ])
    func bareRefusal(domain: String, payload: String, expected: String) throws {
        let adapters = Adapters([try Self.rule("s/+/+", format: "json", ("location", "$1"), ("domain", domain))])
        let message = try #require(adapters.read(topic: "s/hall/temperature", payload: Array(payload.utf8)))
        #expect(throws: WireError(.invalid, expected)) { try message.updates.get() }
    }

    @Test("A thing with an id of its own keeps it, and a domain takes only what is of it")
    func ownItems() throws {
        let payload = #"{"_type":"waypoint","rid":"w","lat":1,"lon":1}"#
        for (domain, updates) in [("waypoint", 1), ("position", 0)] {
            let adapters = Adapters([
                try Self.rule("o/+/+/#", format: "owntracks", ("location", "$2"), ("room", "r"), ("domain", domain))
            ])
            let message = try #require(adapters.read(topic: "o/jane/phone/waypoint", payload: Array(payload.utf8)))
            let made = try message.updates.get()
            #expect(made.count == updates)
            for update in made { #expect(update.topic.encoded == "d/-/-/-/r/w/waypoint") }
        }
    }

    @Test(
        "An entry that cannot be used is refused with its key",
        arguments: [
            (["format": "json", "dataset": "d"], "filter"), (["filter": "a/+", "dataset": "d"], "format"),
            (["filter": "a/+", "format": "json"], "dataset"), (["filter": "a/#/b", "format": "json", "dataset": "d"], "filter"),
            (["filter": "a+", "format": "json", "dataset": "d"], "filter"),
            (["filter": "$SYS/#", "format": "json", "dataset": "d"], "filter"),
            (["filter": "a\n/b", "format": "json", "dataset": "d"], "filter"),
            (["filter": "a/ ", "format": "json", "dataset": "d"], "filter"),
            (["filter": "a/+", "format": "xml", "dataset": "d"], "format"),
            (["filter": "a/+", "format": "json", "dataset": "live"], "dataset"),
            (["filter": "a/+", "format": "json", "dataset": "a b"], "dataset"),
            (["filter": "a/+", "format": "json", "dataset": "$(x)"], "dataset"),
            (["filter": "a/+", "format": "json", "dataset": "$item"], "dataset"),
            (["filter": "a/+", "format": "json", "dataset": "$2"], "dataset"),
            (["filter": "a/+", "format": "json", "dataset": "d", "room": "$2"], "room"),
            (["filter": "a/+", "format": "json", "dataset": "d", "room": "$0"], "room"),
            (["filter": "a/+", "format": "json", "dataset": "d", "room": "$"], "room"),
            (["filter": "a/+", "format": "json", "dataset": "d", "room": "$("], "room"),
            (["filter": "a/+", "format": "json", "dataset": "d", "room": "$(a..b)"], "room"),
            (["filter": "a/+", "format": "json", "dataset": "d", "room": "$name"], "room"),
            (["filter": "a/+", "format": "json", "dataset": "d", "domain": "-"], "domain"),
            (["filter": "a/+", "format": "traccar", "dataset": "d", "domain": "co2"], "domain"),
            (["filter": "a/+", "format": "traccar", "dataset": "d", "domain": "$1"], "domain"),
            (["filter": "a/+", "format": "json", "dataset": "d", "level": "x"], "level"),
        ])
    func refused(_ members: [String: String], key: String) throws {
        let problem = #expect(throws: AdapterRule.Problem.self) {
            try AdapterRule(members.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
        }
        #expect(problem?.key == key && problem?.text.isEmpty == false)
    }

    @Test("A format is found by its name and aliases in any spelling, and each has one name")
    func names() throws {
        #expect(AdapterFormat.all.count == 11)
        for (name, format) in [
            ("OwnTracks", "owntracks"), ("theengs", "openmqttgateway"), ("room_assistant", "room-assistant"),
            ("homeassistant", "home-assistant"), ("TTN", "the-things-stack"), ("AprilBrother", "april-brother"),
        ] {
            #expect(try Self.rule("a/+", format: name).format == format)
        }
        let names = AdapterFormat.all.flatMap { [$0.format.name] + $0.format.aliases }
        for name in names { #expect(names.count { $0 == name } == 1, "\(name)") }
        for adapter in AdapterFormat.all {
            #expect(AdapterFormat.help.contains("\(adapter.format.name) "))
            #expect(throws: Never.self) { try Self.rule(adapter.format.usualFilter, format: adapter.format.name) }
        }
    }

    @Test("The usual filters of all formats stand beside each other and beside the daemon's own")
    func usualFilters() throws {
        let rules = try AdapterFormat.all.map { try Self.rule($0.format.usualFilter, format: $0.format.name) }
        #expect(AdapterRule.overlap(in: rules, prefix: "", datasets: ["d", "museum"]) == nil)
    }

    @Test(
        "A filter that overlaps with the daemon's topics, a dataset's or another adapter's is reported with both",
        arguments: [
            (["geomatch/+/x"], "", "geomatch/#"), (["live/#"], "", "live/#"), (["d/a"], "", "d/#"), (["+/x"], "", "{dataset}/#"),
            (["x/+/a", "x/b/#"], "", "x/+/a"), (["x/a", "y/a", "x/a"], "", "x/a"), (["s/+/a"], "s/", "s/{dataset}/#"),
            (["s/#"], "s/", "s/{dataset}/#"), (["s/d/x"], "s/", "s/d/#"), (["+/e/x"], "s/", "{dataset}"),
        ])
    func overlaps(_ filters: [String], prefix: String, other: String) throws {
        let rules = try filters.map { try Self.rule($0) }
        let found = try #require(AdapterRule.overlap(in: rules, prefix: prefix, datasets: ["d"]))
        #expect(found.index == filters.count - 1)
        #expect(found.problem.contains("`\(filters[filters.count - 1])`") && found.problem.contains(other), "\(found.problem)")
    }

    @Test(
        "A filter whose first level is its dataset is reported: no dataset could have that name", arguments: ["", "s/"])
    func ownDataset(_ prefix: String) throws {
        func rule(_ filter: String, _ dataset: String) throws -> AdapterRule {
            try AdapterRule([("filter", prefix + filter), ("format", "owntracks"), ("dataset", dataset)])
        }
        for (filter, dataset, stands) in [
            ("owntracks/+/+/#", "owntracks", false), ("owntracks/+/+/#", "tracks", true),
            ("tracks/owntracks/#", "owntracks", true),
            ("owntracks/+/+/#", "$1", true),
        ] {
            let found = AdapterRule.overlap(in: [try rule(filter, dataset)], prefix: prefix, datasets: [])
            #expect((found == nil) == stands, "\(filter) \(dataset): \(found?.problem ?? "")")
        }
    }

    @Test("A filter that stands apart is none's, and reserves its first level where datasets have their names")
    func reserved() throws {
        for (filter, prefix, name) in [
            ("owntracks/+/+", "", "owntracks"), ("owntracks/+/+", "s/", nil), ("s/home/+", "s/", "home"), ("my home/#", "", nil),
            ("/a", "", nil), ("s", "s/", nil),
        ] as [(String, String, String?)] {
            let rule = try Self.rule(filter)
            #expect(AdapterRule.overlap(in: [rule], prefix: prefix, datasets: ["d"]) == nil, "\(filter)")
            #expect(rule.reservedDataset(prefix: prefix) == name, "\(filter)")
        }
    }

    @Test("Beside the filter for seven levels every message of an adapter comes once")
    func once() throws {
        var random = SplitMix64.forTest()
        for _ in 0..<300 {
            let prefix = ["", "p/", "p/q/"].randomElement(using: &random)!
            let first = ["a", "p/a", "p/q/a"].randomElement(using: &random)!
            var levels = (0..<Int.random(in: 0...9, using: &random)).map { _ in
                ["+", "b", "c"].randomElement(using: &random)!
            }
            if Bool.random(using: &random) { levels.append("#") }
            let rule = try Self.rule(([first] + levels).joined(separator: "/"))
            guard AdapterRule.overlap(in: [rule], prefix: prefix, datasets: []) == nil else { continue }
            let seven = try TopicFilter(prefix + "+/+/+/+/+/+/+")
            let own = try TopicFilter(rule.filter)
            let beside = try rule.filtersBesideSevenLevels(prefix: prefix).map { try TopicFilter($0) }
            for _ in 0..<200 {
                let topic =
                    ([first]
                    + (0..<Int.random(in: 0...10, using: &random)).map { _ in
                        ["b", "c", "", "x"].randomElement(using: &random)!
                    }).joined(separator: "/")
                let times = beside.count { $0.matches(topic) } + (seven.matches(topic) ? 1 : 0)
                #expect(own.matches(topic) ? times == 1 : times <= 1, "\(topic) by \(rule.filter) below \(prefix)")
            }
        }
    }
}
