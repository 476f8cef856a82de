import Testing
import Wire

@testable import Datasets

/// Every domain from the bytes a sensor sends to what is retained.
@Suite("Domains through the hub")
struct DomainRulesTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var domain: String
        var payload: String
        /// The properties on `live/…`; nil where the update is refused.
        var properties: String?
        /// The `field` of the refusal; empty for none.
        var field = ""

        init(_ domain: String, _ payload: String, _ properties: String) {
            (self.domain, self.payload, self.properties) = (domain, payload, properties)
        }

        init(_ domain: String, _ payload: String, refused field: String) {
            (self.domain, self.payload, self.field) = (domain, payload, field)
        }

        var testDescription: String { "\(domain) \(payload)" }
    }

    @Test(
        "An update is normalised and retained, or refused with the property that is wrong",
        arguments: [
            Row("count", #"{"count":"7.0"}"#, #"{"count":7}"#), Row("Count", #"{"count":-2,"x":null}"#, #"{"count":-2}"#),
            Row("count", #"{"count":true}"#, refused: "count"), Row("count", "{}", refused: "count"),
            Row("temperature", #"{"temperature":"21.5","unit":"C"}"#, #"{"temperature":21.5,"unit":"C"}"#),
            Row("TEMPERATURE", #"{"temperature":-3}"#, #"{"temperature":-3}"#),
            Row("temperature", #"{"temperature":"warm"}"#, refused: "temperature"),
            Row("co2", #"{"co2":412,"raw":{"a":1},"history":[1,[2]]}"#, #"{"co2":412}"#),
            Row("CO2", #"{"co2":"5e2"}"#, #"{"co2":500}"#), Row("co2", #"{"ppm":400}"#, refused: "co2"),
            Row("humidity", #"{"humidity":45.5}"#, #"{"humidity":45.5}"#),
            Row("humidity", #"{"humidity":[45]}"#, refused: "humidity"),
            Row("occupancy", #"{"numberOfPeople":"3","capacity":10.0}"#, #"{"nrOfPeople":3,"capacity":10}"#),
            Row("occupancy", #"{"nrOfPeople":-1}"#, refused: "nrOfPeople"),
            Row("occupancy", #"{"nrOfPeople":2.5}"#, refused: "nrOfPeople"),
            Row("occupancy", #"{"nrOfPeople":1,"capacity":"big"}"#, refused: "capacity"),
            Row("availability", #"{"available":"true"}"#, #"{"available":true}"#),
            Row("availability", #"{"available":false}"#, #"{"available":false}"#),
            Row("availability", #"{"available":1}"#, refused: "available"),
            Row("availability", #"{"available":"yes"}"#, refused: "available"),
            Row(
                "noise", #"{"db":61.25,"tags":["a",1,true],"loud":"false"}"#, #"{"db":61.25,"tags":["a",1,true],"loud":"false"}"#),
            Row("noise", "{}", "{}"), Row("noise", #"{"a":{"b":1}}"#, refused: "a"), Row("noise", #"{"a":[[1]]}"#, refused: "a"),
            Row("noise", "[1]", refused: ""), Row("noise", "7", refused: ""), Row("noise", "{", refused: ""),
            Row(
                "position", #"{"latitude":"43.73","longitude":7.42,"speed":"1.5"}"#,
                #"{"latitude":43.73,"longitude":7.42,"speed":1.5}"#),
            Row("position", #"{"lat":91,"lon":0}"#, refused: "lat"), Row("position", #"{"lat":1}"#, refused: "longitude"),
            Row("position", #"{"_type":"transition","lat":1,"lon":2}"#, refused: "_type"),
            Row(
                "position",
                #"{"type":"Feature","geometry":{"type":"Point","coordinates":[7.5,43.5,12]},"properties":{"name":"x"}}"#,
                #"{"latitude":43.5,"longitude":7.5,"altitude":12,"name":"x"}"#),
        ])
    func domain(_ row: Row) {
        let harness = HubHarness()
        _ = harness.request("dataset/create", client: "admin")
        harness.published.removeAll()
        harness.send("d/v/b/f/r/l/\(row.domain)", row.payload)
        let topic = "d/v/b/f/r/l/\(row.domain.lowercased())"
        let live = harness.retained["live/" + topic].flatMap { try? JSONValue.parse($0) }
        if let properties = row.properties {
            #expect(live?["properties"] == (try? JSONValue.parse(properties)))
            #expect(live?["topic"]?.text == topic && live?["domainType"]?.text == row.domain.lowercased())
            #expect(live?["itemId"]?.text == "l" && live?["timestamp"]?.number == Double(harness.now))
            #expect(harness.published.first?.retain == true && harness.diagnostics().isEmpty)
            #expect(harness.result("dataset/get")?["activeDomains"]?.elements.map(\.text) == [row.domain.lowercased()])
            harness.send("d/v/b/f/r/l/\(row.domain)", "")
            #expect(harness.retained["live/" + topic] == nil)
            #expect(harness.result("dataset/get")?["activeDomains"]?.elements.isEmpty == true)
        } else {
            #expect(live == nil && harness.hub.liveStates.count == 0 && harness.hub.datasets["d"]?.devices.isEmpty == true)
            #expect(harness.diagnostics().map { $0["error"]?.text } == ["invalid"])
            #expect(harness.diagnostics().first?["field"]?.text ?? "" == row.field)
        }
    }

    @Test("By event time: older is late, the same again is taken again, clearing counts as of now", arguments: ["co2", "noise"])
    func eventTime(_ domain: String) {
        let harness = HubHarness()
        let start = harness.now
        func send(_ value: Int, _ timestamp: Int64) -> Double? {
            harness.send("d/v/-/-/-/-/\(domain)", #"{"co2":\#(value),"timestamp":\#(timestamp)}"#)
            return harness.retained["live/d/v/-/-/-/-/\(domain)"].flatMap { try? JSONValue.parse($0) }?["properties"]?["co2"]?
                .number
        }
        #expect(send(1, start - 1000) == 1)
        #expect(send(2, start - 2000) == 1)
        #expect(send(3, start - 500) == 3)
        #expect(send(3, start - 500) == 3)
        #expect(send(4, start - 501) == 3)
        #expect(harness.counters.updates.late == 2 && harness.counters.updates.accepted == 3)
        harness.send("d/v/-/-/-/-/\(domain)", "")
        #expect(send(5, start - 1) == nil)
        #expect(send(6, start) == 6)
        #expect(harness.counters.updates.late == 3)
        // More than five minutes ahead becomes the time of arrival.
        harness.now += 1000
        #expect(send(7, start + 400_000) == 7)
        #expect(harness.counters.updates.skewed == 1)
        #expect(harness.retained["live/d/v/-/-/-/-/\(domain)"]?.contains(#""timestamp":\#(start + 1000),"#) == true)
    }
}
