import Testing
import Wire

@testable import Datasets

@Suite("What the catalogue says of values is what requests check")
struct CatalogueLimitsTests {
    /// Values with which requests are carried out; those of the object come before those of its kind.
    private static let samples: [String: JSONValue] = [
        "device/id": "phone", "geofence/id": "fence", "publication/id": "offer", "subscription/id": "thirsty",
        "circumstance/id": "rule", "live/id": "live", "place/id": "place", "deviceId": "phone", "publicationId": "offer",
        "subscriptionId": "thirsty", "topic": "t",
        "range": 5, "duration": 60, "deviceType": "MobileDevice", "expression": "true", "criteria": "d/#", "client": "guide",
        "area": ["circle": ["latitude": 43.73, "longitude": 7.42, "radius": 50]], "type": "note", "level": "room",
        "proximityUUID": "F7826DA6-4FA2-4E98-8024-BC5B71E0893E", "placeId": "p", "docs": [["type": "note", "id": "1"]],
        "value": [:], "places": ["type": "FeatureCollection", "features": []], "categories": [],
        "structure": ["type": "FeatureCollection", "features": []],
    ]
    private static let beacon: JSONObject = [
        "deviceType": "IBeaconDevice", "proximityUUID": "F7826DA6-4FA2-4E98-8024-BC5B71E0893E", "major": 1, "minor": 1,
    ]
    /// What a value takes beside it.
    private static let besides: [String: JSONObject] = [
        "latitude": ["longitude": 7.42], "longitude": ["latitude": 43.73],
        "horizontalAccuracy": ["latitude": 43.73, "longitude": 7.42], "accuracy": ["mode": "visit"],
        "exitMargin": ["mode": "visit"],
        "dwell": ["mode": "visit"], "staleAfter": ["mode": "visit"], "major": beacon, "minor": beacon,
    ]

    private func prepared() -> HubHarness {
        let harness = HubHarness()
        for (name, body) in [
            ("device/create", #"{"deviceType":"MobileDevice","id":"phone"}"#),
            ("publication/create", #"{"id":"offer","deviceId":"phone","topic":"t","range":1,"duration":60}"#),
            ("subscription/create", #"{"id":"thirsty","deviceId":"phone","topic":"t","range":1,"duration":60}"#),
            ("circumstance/register", #"{"id":"rule","expression":"true"}"#),
            ("live/subscribe", #"{"id":"live","criteria":"d/#"}"#),
            (
                "place/import",
                #"{"places":{"type":"FeatureCollection","features":[{"type":"Feature","id":"place","geometry":{"type":"Point","coordinates":[7,43]},"properties":{}}]}}"#
            ),
            ("geofence/create", #"{"id":"fence","area":{"circle":{"latitude":1,"longitude":1,"radius":5}}}"#),
        ] {
            let reply = harness.request(name, body, client: name == "place/import" ? "admin" : "alice")
            #expect(reply?["result"] != nil, "\(name)")
        }
        return harness
    }

    /// Values that a field takes, and values that it refuses.
    private func values(of field: RequestField) -> (good: [JSONValue], bad: [JSONValue]) {
        func text(_ count: Int) -> JSONValue { .string(String(repeating: "a", count: count)) }
        func sizes(_ range: ClosedRange<Int>, _ value: (Int) -> JSONValue) -> (good: [JSONValue], bad: [JSONValue]) {
            let bad = [range.lowerBound - 1, range.upperBound + 1].filter { $0 >= 0 }
            return ([range.lowerBound, range.upperBound].map(value), bad.map(value))
        }
        func number(_ value: Double) -> JSONValue { Int64(exactly: value).map { .integer($0) } ?? .double(value) }
        switch field.limits {
        case .none: return ([], [])
        case .id: return ([text(1), text(128)], ["", "-", text(129), 7])
        case .words(let words): return (words.map { .string($0) }, ["nonsense", 7])
        case .characters(let range), .bytes(let range): return sizes(range, text)
        case .numbers(let range):
            return ([range.lowerBound, range.upperBound].map(number), [range.lowerBound - 1, range.upperBound + 1].map(number))
        case .atLeast(let least): return ([number(least)], [number(least - 1), "1"])
        case .above(let bound): return ([number(bound + 1)], [number(bound), "1"])
        case .entries(let range): return sizes(range) { .array(Array(repeating: "a", count: $0)) }
        }
    }

    @Test("Each bound is accepted, and refused one beyond, by every request that has it")
    func bounds() {
        // Those with rules of their own, which come first, and what nothing is asked of.
        let own: Set<String> = [
            "changes/push docs", "changes/documents docs", "device/create type", "place/verify placeId", "place/get id",
            "place/delete id", "publication/update deviceId", "subscription/update deviceId", "circumstance/enable revision",
            "circumstance/disable revision", "cluster/status limit", "cluster/status after",
        ]
        for description in RequestCatalogue.all where RequestTable.row(of: description.name)?.isForSocket == false {
            for field in description.fields where !own.contains("\(description.name) \(field.name)") {
                let (good, bad) = values(of: field)
                for (value, isGood) in good.map({ ($0, true) }) + bad.map({ ($0, false) }) {
                    let error = refusal(description, field, value)
                    let isRefused = error == "invalid \(field.name)" || error == "limit \(field.name)"
                    let isOfRule = isRefused && isGood && Self.hasRules.contains(field.name)
                    #expect(isRefused != isGood || isOfRule, "\(description.name) \(field.name) \(value): \(error ?? "accepted")")
                }
            }
        }
    }

    /// Good sizes of these still have to be something.
    private static let hasRules: Set<String> = ["timeZone", "pushers", "selector", "storeId", "after", "bbox"]

    private func refusal(_ description: RequestDescription, _ field: RequestField, _ value: JSONValue) -> String? {
        var body = JSONObject()
        for other in description.fields where other.isRequired {
            body[other.name] = Self.samples["\(description.resource)/\(other.name)"] ?? Self.samples[other.name] ?? "x"
        }
        let known = Set(description.fields.map(\.name))
        for member in Self.besides[field.name]?.members ?? [] where known.contains(member.key) { body[member.key] = member.value }
        body[field.name] = value
        return prepared().refusal(
            description.name, String(decoding: JSONValue.object(body).serialised(), as: UTF8.self),
            client: client(of: description), dataset: description.name == "dataset/create" ? "new" : "d")
    }

    private func client(of description: RequestDescription) -> String {
        description.abstract.contains("(administrators") || ["key/create", "key/list", "place/delete"].contains(description.name)
            ? "admin" : "alice"
    }
}
