import Testing
import Wire

@testable import HomeAssistant

@Suite("Home Assistant discovery")
struct DiscoveryTests {
    private static func discovery() -> Discovery { Discovery(Discovery.Naming(prefix: "", version: "1.2.3")) }

    private static func object(_ message: Discovery.Message?) -> JSONObject? {
        message.flatMap { (try? JSONValue.parse($0.payload))?.asObject }
    }

    private static func components(_ message: Discovery.Message?) -> JSONObject? { object(message)?["cmps"]?.asObject }

    @Test("A device with a position is a tracker whose attributes come from its live topic")
    func tracker() {
        var discovery = Self.discovery()
        discovery.note("demo/-/-/-/-/phone/position", isKnown: true)
        let messages = discovery.takeMessages(atMost: 10)
        #expect(messages.map(\.object) == ["demo__phone"])
        let message = Self.object(messages.first)
        #expect(message?["dev"]?.asObject?["ids"] == ["geomatch/demo/phone"])
        #expect(message?["dev"]?.asObject?["name"] == "phone" && message?["o"]?.asObject?["sw"] == "1.2.3")
        #expect(message?["avty"] == [["topic": "geomatch/status", "value_template": "{{ value_json.state }}"]])
        let tracker = Self.components(messages.first)?["position"]?.asObject
        #expect(tracker?["p"] == "device_tracker" && tracker?["unique_id"] == "geomatch/demo/phone/position")
        #expect(tracker?["json_attributes_topic"] == "live/demo/-/-/-/-/phone/position" && tracker?["source_type"] == "gps")
        #expect(tracker?["state_topic"] == nil)
        #expect(discovery.takeMessages(atMost: 10).isEmpty && !discovery.hasChanges)
    }

    @Test("A room with occupancy is a sensor and a binary sensor, with what else is measured in it")
    func room() {
        var discovery = Self.discovery()
        for domain in ["occupancy", "temperature", "humidity", "co2", "count", "availability", "noise"] {
            discovery.note("demo/hq/main/1/r1/-/\(domain)", isKnown: true)
        }
        let messages = discovery.takeMessages(atMost: 10)
        #expect(messages.map(\.object) == ["demo__hq__main__1__r1"])
        let components = Self.components(messages.first)
        let platforms = (components?.members ?? []).map { "\($0.key) \($0.value.asObject?["p"]?.asString ?? "")" }
        #expect(
            platforms.sorted() == [
                "availability binary_sensor", "co2 sensor", "count sensor", "humidity sensor", "occupied binary_sensor",
                "people sensor", "temperature sensor",
            ])
        #expect(
            components?["people"]?.asObject?["value_template"]
                == "{{ value_json.properties.nrOfPeople if value_json is defined }}")
        for (name, unit) in [("temperature", "°C"), ("humidity", "%"), ("co2", "ppm"), ("count", "items"), ("people", "people")] {
            #expect(components?[name]?.asObject?["unit_of_measurement"]?.asString == unit, "\(name)")
        }
        #expect(components?["co2"]?.asObject?["device_class"] == "carbon_dioxide")
        #expect(components?["occupied"]?.asObject?["unique_id"] == "geomatch/demo/hq/main/1/r1/occupied")
    }

    @Test("Desks of the same name in two rooms are two, and a device is one wherever it is")
    func sameNames() {
        var discovery = Self.discovery()
        for room in ["a", "b"] { discovery.note("demo/v/h/1/\(room)/desk1/availability", isKnown: true) }
        discovery.note("demo/-/-/-/-/phone/temperature", isKnown: true)
        discovery.note("demo/v/h/1/a/phone/position", isKnown: true)
        let messages = discovery.takeMessages(atMost: 10)
        #expect(messages.map(\.object) == ["demo__phone", "demo__v__h__1__a__desk1", "demo__v__h__1__b__desk1"])
        #expect(Self.components(messages.first)?.members.count == 2)
    }

    @Test("Names of objects hold nothing that Home Assistant refuses, and are different for different things")
    func names() {
        let levels = [
            ["a", "b_c"], ["a", "b", "c"], ["a_b", "c"], ["a__b", "c"], ["ä", "c/d"], ["a.b", "x y"], ["a", "b__c"],
            ["a", "b-c"],
        ]
        let names = levels.map(Discovery.object)
        #expect(Set(names).count == levels.count)
        for name in names { #expect(name.wholeMatch(of: /[A-Za-z0-9_-]+/) != nil, "\(name)") }
    }

    @Test("What goes is removed: the whole, or one component by its platform")
    func removal() {
        var discovery = Self.discovery()
        discovery.note("demo/v/b/1/r/-/occupancy", isKnown: true)
        discovery.note("demo/v/b/1/r/-/co2", isKnown: true)
        _ = discovery.takeMessages(atMost: 10)
        discovery.note("demo/v/b/1/r/-/co2", isKnown: false)
        let partly = discovery.takeMessages(atMost: 10)
        #expect(Self.components(partly.first)?["co2"] == ["p": "sensor"])
        #expect(Self.components(partly.first)?["people"]?.asObject?["state_topic"] != nil)
        discovery.note("demo/v/b/1/r/-/occupancy", isKnown: false)
        #expect(discovery.takeMessages(atMost: 10) == [Discovery.Message(object: "demo__v__b__1__r", payload: [])])
    }

    @Test("Home Assistant before 2025.4.3 kept what went: each component is removed by name before the device is")
    func parting() {
        var discovery = Self.discovery()
        for domain in ["occupancy", "co2"] { discovery.note("demo/v/b/1/r/-/\(domain)", isKnown: true) }
        _ = discovery.takeMessages(atMost: 10)
        for domain in ["occupancy", "co2"] { discovery.note("demo/v/b/1/r/-/\(domain)", isKnown: false) }
        let messages = discovery.takeAllMessages(atMost: 10)
        #expect(messages.map(\.payload.isEmpty) == [false, true] && !discovery.hasChanges)
        let removed = Self.components(messages.first)
        #expect(removed?["people"] == ["p": "sensor"] && removed?["occupied"] == ["p": "binary_sensor"])
        #expect(removed?["co2"] == ["p": "sensor"] && removed?.members.count == 3)
    }

    @Test("A device that moves to another room keeps its ids, and points at its new topic")
    func move() {
        var discovery = Self.discovery()
        discovery.note("demo/v/b/1/r/phone/position", isKnown: true)
        let former = Self.object(discovery.takeMessages(atMost: 10).first)
        discovery.note("demo/v/b/2/s/phone/position", isKnown: true)
        discovery.note("demo/v/b/1/r/phone/position", isKnown: false)
        let messages = discovery.takeMessages(atMost: 10)
        #expect(messages.count == 1)
        let tracker = Self.components(messages.first)?["position"]?.asObject
        #expect(tracker?["json_attributes_topic"] == "live/demo/v/b/2/s/phone/position")
        #expect(former?["dev"] == Self.object(messages.first)?["dev"])
        #expect(former?["cmps"]?.asObject?["position"]?.asObject?["unique_id"] == tracker?["unique_id"])
    }

    @Test("After a restart nothing is said again that the broker has, and what is gone meanwhile is removed")
    func restart() {
        var before = Self.discovery()
        for id in ["phone", "gone"] { before.note("demo/-/-/-/-/\(id)/position", isKnown: true) }
        let retained = before.takeMessages(atMost: 10)
        var discovery = Self.discovery()
        for message in retained { discovery.noteRetained(message.object, message.payload) }
        discovery.noteRetained("other", Array(#"{"o":{"name":"else"},"avty":[{"topic":"geomatch/status"}]}"#.utf8))
        discovery.noteRetained("elsewhere", Array(#"{"o":{"name":"geomatch"},"avty":[{"topic":"x/geomatch/status"}]}"#.utf8))
        discovery.noteRetained("broken", [1, 2])
        discovery.note("demo/-/-/-/-/phone/position", isKnown: true)
        #expect(discovery.takeMessages(atMost: 10) == [Discovery.Message(object: "demo__gone", payload: [])])
    }

    @Test("Of a private dataset only occupancy is discovered")
    func privacy() {
        var discovery = Self.discovery()
        discovery.note("demo/-/-/-/-/phone/temperature", isKnown: true)
        for domain in ["occupancy", "co2"] { discovery.note("demo/v/b/1/r/-/\(domain)", isKnown: true) }
        _ = discovery.takeMessages(atMost: 10)
        discovery.setPrivate(true, dataset: "demo")
        let messages = discovery.takeMessages(atMost: 10)
        #expect(messages.map(\.object) == ["demo__phone", "demo__v__b__1__r"] && messages.first?.payload.isEmpty == true)
        #expect(Self.components(messages.last)?["co2"] == ["p": "sensor"])
        discovery.setPrivate(false, dataset: "demo")
        #expect(discovery.takeMessages(atMost: 10).count == 2)
    }

    @Test("A subscription whose owner wants it is an event of its device")
    func events() {
        var discovery = Self.discovery()
        let source = Discovery.EventSource(
            device: "phone", subscription: "thirsty", topic: "geomatch/demo/me/match/phone/thirsty")
        discovery.setEvents([source], of: "demo")
        let event = Self.components(discovery.takeMessages(atMost: 10).first)?["match-thirsty"]?.asObject
        #expect(event?["p"] == "event" && event?["event_types"] == ["matched", "ended"])
        #expect(event?["state_topic"] == "geomatch/demo/me/match/phone/thirsty")
        discovery.setEvents([], of: "demo")
        #expect(discovery.takeMessages(atMost: 10).map(\.payload) == [[]])
    }

    @Test("A dataset that is not wanted any more is removed, and one that could not be sent is sent again")
    func forgetting() {
        var discovery = Self.discovery()
        discovery.note("demo/-/-/-/-/phone/position", isKnown: true)
        discovery.send(atMost: 10) { _ in false }
        #expect(discovery.hasChanges && discovery.takeMessages(atMost: 10).count == 1)
        discovery.forget(dataset: "demo")
        #expect(discovery.takeMessages(atMost: 10).map(\.payload) == [[]])
        discovery.note("demo/-/-/-/-/phone/position", isKnown: true)
        #expect(discovery.takeMessages(atMost: 10).count == 1)
    }
}

extension Discovery {
    /// Without what removes the components of a thing before the thing itself goes.
    fileprivate mutating func takeMessages(atMost count: Int) -> [Message] {
        let messages = takeAllMessages(atMost: count)
        let goes = Set(messages.filter(\.payload.isEmpty).map(\.object))
        return messages.filter { $0.payload.isEmpty || !goes.contains($0.object) }
    }

    fileprivate mutating func takeAllMessages(atMost count: Int) -> [Message] {
        var messages: [Message] = []
        send(atMost: count) {
            messages.append($0)
            return true
        }
        return messages
    }
}
