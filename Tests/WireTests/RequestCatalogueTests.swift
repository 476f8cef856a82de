import Testing

@testable import Wire

@Suite("Catalogue of requests")
struct RequestCatalogueTests {
    private func refusal(_ name: String, _ parameters: String) throws -> WireError? {
        let description = try #require(RequestCatalogue.byName[name])
        let object = try #require(try JSONValue.parse(parameters).asObject)
        do throws(WireError) {
            try description.check(object)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        "A parameter that a request does not know is refused, with the way to it and the nearest known one",
        arguments: [
            ("subscription/create", #"{"topic":"a","exitMagrin":5}"#, "exitMagrin", "did you mean `exitMargin`?"),
            ("dataset/update", #"{"derivedOcupancy":true}"#, "derivedOcupancy", "did you mean `derivedOccupancy`?"),
            ("dataset/update", #"{"polcy":"strict"}"#, "polcy", "did you mean `policy`?"),
            ("live/subscribe", #"{"criteria":"d/#","whre":"a=1"}"#, "whre", "did you mean `where`?"),
            ("device/update", #"{"id":"phone","nmae":"x"}"#, "nmae", "did you mean `name`?"),
            (
                "live/snapshot", #"{"within":{"circle":{"latitude":1,"radus":2}}}"#, "within.circle.radus",
                "`within.circle.radius`?"
            ),
            ("device/update", #"{"carries":{"uuid":"x","mayor":1}}"#, "carries.mayor", "did you mean `carries.major`?"),
            ("device/get", #"{"id":"a","quantum":1}"#, "quantum", "it takes `id`"),
            (
                "geofence/create", #"{"area":{"type":"MultiPolygon","coordinates":[],"circle":{}}}"#, "area.circle",
                "it takes `area.type`, `area.coordinates`, `area.bbox`, `area.crs`"
            ),
            (
                "changes/documents", #"{"docs":[{"type":"a","id":"b"},{"type":"a","id":"b","revison":"1"}]}"#, "docs[1].revison",
                "did you mean `docs[1].revision`?"
            ),
            ("dataset/get", #"{"id":"a"}"#, "id", "it takes none"),
        ])
    func unknown(_ name: String, _ parameters: String, _ field: String, _ advice: String) throws {
        let error = try #require(try refusal(name, parameters))
        #expect(error.code == .invalid)
        #expect(error.field == field)
        #expect(error.message.hasPrefix("`\(field)` is no parameter of `\(name)`; "))
        #expect(error.message.hasSuffix(advice))
    }

    @Test(
        "What is known passes, and so do properties, locations, documents, features and what GeoJSON adds",
        arguments: [
            ("device/create", #"{"deviceType":"IBeaconDevice","uuid":"x","major":1,"minor":null}"#),
            ("device/create", #"{"deviceType":"PinDevice","location":{"latitude":1,"longitude":2,"colour":"red"}}"#),
            ("publication/create", #"{"properties":{"anything":1}}"#),
            ("place/list", #"{"within":{"type":"Polygon","coordinates":[],"crs":{},"bbox":[0,0,1,1]}}"#),
            ("changes/documents", #"{"docs":[{"type":"a","id":"b","revision":"1-a","revisions":[]},7]}"#),
            ("place/import", #"{"places":{"type":"FeatureCollection","features":[],"radius":1}}"#),
            ("changes/push", #"{"docs":[{"id":"1","further":true}]}"#),
        ])
    func known(_ name: String, _ parameters: String) throws {
        #expect(try refusal(name, parameters) == nil)
    }

    @Test(
        "The refusal of a request that there is not names its neighbour",
        arguments: [
            ("device/creat", "device/create"), ("devices/list", "device/list"), ("subscriptions/creat", "subscription/create"),
            ("Device/create", "device/create"), ("zebra/ride", nil), ("device", nil),
        ] as [(String, String?)])
    func nearest(_ name: String, _ expected: String?) {
        #expect(RequestCatalogue.nearest(to: name) == expected)
    }

    @Test("Each row has a sentence, an example and no name twice", arguments: RequestCatalogue.all.map(\.name))
    func rows(_ name: String) throws {
        let row = try #require(RequestCatalogue.byName[name])
        let names = row.fields.flatMap { [$0.name] + $0.aliases }
        #expect(Set(names).count == names.count)
        #expect(row.abstract.hasSuffix("."))
        #expect(row.example.contains("\(row.resource) \(row.verb)"))
    }
}

@Suite("Where JSON ends to be JSON")
struct JSONFaultTests {
    @Test(
        "The line, the column and what is expected there are named",
        arguments: [
            (#"{"lat":43,73}"#, "line 1, column 10: a number has a decimal point, not a comma"),
            (#"{"a":1,}"#, #"line 1, column 8: a name in double quotes is expected, not "}""#),
            (#"{"a" 1}"#, #"line 1, column 6: ":" is expected, not "1""#),
            (#"{"a":1 "b":2}"#, #"line 1, column 8: "," or "}" is expected, not "\"""#),
            ("[1 2]", #"line 1, column 4: "," or "]" is expected, not "2""#),
            ("{\n  \"é\": tru\n}", #"line 2, column 8: "tru" is no value of JSON: write texts in double quotes"#),
            ("tru", #"line 1, column 1: "tru" is no value of JSON"#),
            (#"{"a":True}"#, #"line 1, column 6: "True" is no value of JSON: write true"#),
            (#"{'a':1}"#, #"line 1, column 2: a name in double quotes or "}" is expected, not "'""#),
            (#"{"a":01}"#, #"line 1, column 6: "01" is no value of JSON"#),
            (#"{"a":1.}"#, #"line 1, column 6: "1." is no value of JSON"#),
            (#"{"a":"x"#, "line 1, column 6: the string that begins here is not closed"),
            (#"{"a":1"#, #"line 1, column 7: "," or "}" is expected, but the text ends"#),
            (#"{"a":1}}"#, #"line 1, column 8: the end is expected, not "}""#),
        ])
    func places(_ text: String, _ expected: String) throws {
        guard case .failure(let refusal) = Request.parse(Array(text.utf8)) else {
            Issue.record("\(text) is read")
            return
        }
        #expect(refusal.error.message == "the payload is not JSON: " + expected)
    }

    @Test("The error of an update that is no JSON says where; one that is large is not looked through again")
    func update() {
        let broken = "{\"latitude\":1,\n\"longitude\":}"
        var properties: [UInt8] = []
        for (padding, expected) in [
            (0, #"the payload is not JSON: line 2, column 13: a value is expected, not "}""#),
            (20_000, "the payload is not JSON"),
        ] {
            let payload = Array((broken + String(repeating: " ", count: padding)).utf8)
            let refusal = #expect(throws: WireError.self) {
                try LiveUpdateDecoder().decode(payload, domain: "position", properties: &properties)
            }
            #expect(refusal?.message == expected)
        }
    }

    @Test(
        "What is JSON in form has no fault",
        arguments: ["{}", "[]", " 1 ", #"{"a":[1,-2.5e3,"\"",true,null,{}]}"#, "\"x\"", "1e999"])
    func sound(_ text: String) {
        let fault = Array(text.utf8).withUnsafeBytes { JSONFault.find(in: $0) }
        #expect(fault == nil)
    }
}
