import SeededRandom
import Testing
import Wire

@testable import Datasets
@testable import Records

@Suite("Places")
struct PlaceTests {
    private func point(_ id: String, _ longitude: Double = 7.42, _ extra: String = "") -> String {
        #"{"type":"Feature","geometry":{"type":"Point","coordinates":[\#(longitude),43.73]},"properties":{"id":"\#(id)"\#(extra)}}"#
    }

    private func collection(_ features: [String]) -> String {
        #"{"places":{"type":"FeatureCollection","features":[\#(features.joined(separator: ","))]}}"#
    }

    @discardableResult
    private func importPlaces(
        _ harness: HubHarness, _ features: [String], client: String = "alice"
    ) -> JSONValue? {
        harness.result("place/import", collection(features), client: client)
    }

    private func ids(_ result: JSONValue?) -> [String] {
        (result?["places"]?.elements ?? []).map { $0["id"]?.text ?? "" }
    }

    private static let whole =
        #","name":"Café","categoryIds":["cafe",7],"chainId":12,"openingHours":"Mo-Fr 09:00-17:00","timeZone":"Europe/Monaco","placerank":0.5,"holidays":{"PH":["2026-12-25"],"SH":[["2026-07-06","2026-08-31"]]}"#

    @Test("A place is imported with all it has, listed, and replaced when it is imported again")
    func whole() {
        let harness = HubHarness()
        let result = importPlaces(harness, [point("a", 7.42, Self.whole)])
        #expect(result?["imported"]?.number == 1 && result?["replaced"]?.number == 0)
        #expect(result?["refused"]?.elements.isEmpty == true && result?["warnings"]?.elements.isEmpty == true)
        let place = harness.result("place/get", #"{"id":"a"}"#)
        #expect(place?["name"]?.text == "Café" && place?["chainId"]?.text == "12")
        #expect(place?["categoryIds"] == ["cafe", "7"] && place?["openingHours"]?.text == "Mo-Fr 09:00-17:00")
        #expect(place?["holidays"] == ["PH": ["2026-12-25"], "SH": [["2026-07-06", "2026-08-31"]]])
        #expect(place?["timeZone"]?.text == "Europe/Monaco" && place?["placerank"]?.number == 0.5)
        #expect(place?["latitude"]?.number == 43.73 && place?["longitude"]?.number == 7.42)
        #expect(place?["geometry"] == ["type": "Point", "coordinates": [7.42, 43.73]])
        #expect(place?["owner"]?.text == "alice" && place?["revision"]?.text?.hasPrefix("1-") == true)
        let again = importPlaces(harness, [point("a", 7.43), point("b")])
        #expect(again?["imported"]?.number == 1 && again?["replaced"]?.number == 1)
        let changed = harness.result("place/get", #"{"id":"a"}"#)
        #expect(changed?["longitude"]?.number == 7.43 && changed?["name"] == nil)
        #expect(changed?["revision"]?.text?.hasPrefix("2-") == true)
        #expect(ids(harness.result("place/list")) == ["a", "b"])
        #expect(harness.result("dataset/get")?["counts"]?["places"]?.number == 2)
    }

    @Test("Importing the same again counts as replaced and changes nothing")
    func unchanged() {
        let harness = HubHarness()
        importPlaces(harness, [point("a", 7.42, Self.whole)])
        let before = harness.result("place/get", #"{"id":"a"}"#)
        harness.changes = []
        #expect(importPlaces(harness, [point("a", 7.42, Self.whole)])?["replaced"]?.number == 1)
        #expect(harness.changes.isEmpty && harness.result("place/get", #"{"id":"a"}"#) == before)
    }

    @Test("What `place/get` shows can be imported, as can ids that are numbers and stand beside the properties")
    func shapes() {
        let harness = HubHarness()
        importPlaces(harness, [point("a", 7.42, Self.whole)])
        let shown = harness.result("place/get", #"{"id":"a"}"#).map { String(decoding: $0.serialised(), as: UTF8.self) } ?? ""
        #expect(importPlaces(harness, [shown])?["replaced"]?.number == 1)
        importPlaces(harness, [#"{"type":"Feature","id":5,"geometry":{"type":"Point","coordinates":[1,2]},"properties":null}"#])
        #expect(harness.result("place/get", #"{"id":5}"#)?["id"]?.text == "5")
        #expect(harness.result("place/get", #"{"id":"5"}"#)?["id"]?.text == "5")
    }

    @Test(
        "A feature that is wrong is refused by name, and the others are imported",
        arguments: [
            (#"{"id":"x"}"#, "invalid geometry"), (#"{"properties":{"id":"x"},"geometry":null}"#, "invalid geometry"),
            (#"{"properties":5}"#, "invalid properties"), ("5", "invalid type"), (#"{"geometry":{}}"#, "invalid id"),
            (#"{"type":"Foo","id":"x","geometry":{"type":"Point","coordinates":[7,43]}}"#, "invalid type"),
            (#"{"id":"-"}"#, "invalid id"), (#"{"id":1.5}"#, "invalid id"),
            (#"{"id":"x","geometry":{"type":"Point"}}"#, "invalid geometry"),
            (#"{"id":"x","geometry":{"type":"Point","coordinates":[200,0]}}"#, "invalid geometry"),
            (#"{"id":"x","geometry":{"type":"LineString","coordinates":[[0,0],[1,1]]}}"#, "invalid geometry"),
            (#"{"id":"x","geometry":{"type":"Polygon","coordinates":[[[0,0],[1,1],[1,0],[0,1],[0,0]]]}}"#, "invalid geometry"),
            (
                #"{"id":"x","geometry":{"type":"Polygon","coordinates":[[[0,80],[90,80],[180,80],[-90,80],[0,80]]]}}"#,
                "invalid geometry"
            ),
            (#"{"id":"x","geometry":{"type":"MultiPolygon","coordinates":[]}}"#, "invalid geometry"),
            (ok(#""timeZone":"Europe/Nowhere""#), "invalid timeZone"), (ok(#""timeZone":"../etc/passwd""#), "invalid timeZone"),
            (ok(#""name":5"#), "invalid name"), (ok(#""categoryIds":"cafe""#), "invalid categoryIds"),
            (ok(#""categoryIds":["a",null]"#), "invalid categoryIds[1]"), (ok(#""chainId":true"#), "invalid chainId"),
            (ok(#""placerank":"high""#), "invalid placerank"), (ok(#""openingHours":24"#), "invalid openingHours"),
            (ok(#""holidays":["2026-01-01"]"#), "invalid holidays"),
            (ok(#""holidays":{"PH":["2026-02-30"]}"#), "invalid holidays.PH[0]"),
            (ok(#""holidays":{"SH":[["2026-02-03","2026-02-01"]]}"#), "invalid holidays.SH[0]"),
        ])
    func refused(_ row: (feature: String, refusal: String)) {
        let harness = HubHarness()
        let result = importPlaces(harness, [point("a"), row.feature, point("b")])
        #expect(result?["imported"]?.number == 2)
        #expect(result?["refused"]?.elements.compactMap { $0["error"]?.refusal } == [row.refusal])
        #expect(ids(harness.result("place/list")) == ["a", "b"])
    }

    @Test(
        "A refused feature is called as it calls itself, even where that is no id",
        arguments: [
            (#""-""#, "-"), (#""\#(String(repeating: "x", count: 300))""#, String(repeating: "x", count: 128)), ("7", "7"),
            (#""""#, nil),
            ("true", nil), ("null", nil),
        ] as [(String, String?)])
    func refusedID(_ id: String, shown: String?) {
        let result = importPlaces(HubHarness(), [#"{"geometry":null,"properties":{"id":\#(id)}}"#])
        #expect(result?["refused"]?.elements.map { $0["id"]?.text } == [shown])
        let categories = HubHarness().result("category/import", #"{"categories":[{"id":\#(id)}]}"#)
        #expect(categories?["refused"]?.elements.map { $0["id"]?.text } == [shown])
    }

    private static func ok(_ property: String) -> String {
        #"{"id":"x","geometry":{"type":"Point","coordinates":[7,43]},"properties":{\#(property)}}"#
    }

    @Test("Geometries are repaired where what is meant is clear")
    func repaired() {
        let harness = HubHarness()
        let ring = "[[0,0],[0,0],[1,0],[1,1],[0,1]]"
        let result = importPlaces(
            harness, [#"{"id":"x","geometry":{"type":"MultiPolygon","coordinates":[[\#(ring)]]}}"#])
        #expect(result?["imported"]?.number == 1)
        let geometry = harness.result("place/get", #"{"id":"x"}"#)?["geometry"]
        #expect(geometry?["type"]?.text == "Polygon")
        #expect(geometry?["coordinates"] == [[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]])
    }

    @Test("Hours that were guessed or not understood are reported with what was made of them, and kept as they are")
    func hours() {
        let harness = HubHarness()
        let result = importPlaces(
            harness, [point("a", 7.42, #","openingHours":"on request, ask Ann""#), point("b", 7.42, #","openingHours":"24/7""#)])
        #expect(result?["imported"]?.number == 2)
        let warnings = result?["warnings"]?.elements.compactMap(\.text) ?? []
        #expect(warnings.count == 1 && warnings.first?.contains("`a`") == true)
        #expect(harness.result("place/get", #"{"id":"a"}"#)?["openingHours"]?.text == "on request, ask Ann")
    }

    @Test("Blank hours are none")
    func blankHours() {
        let harness = HubHarness()
        let result = importPlaces(
            harness, [point("a", 7.42, #","openingHours":" ""#), point("b", 7.42, #","openingHours":"""#)])
        #expect(result?["imported"]?.number == 2 && result?["warnings"]?.elements.isEmpty == true)
        #expect(harness.result("place/get", #"{"id":"a"}"#)?["openingHours"] == nil)
        #expect(harness.result("place/get", #"{"id":"b"}"#)?["openingHours"] == nil)
    }

    @Test("The reply of an import has the normalised hours, and tells once that a list of holidays is missing")
    func normalisedHours() {
        let harness = HubHarness()
        let result = importPlaces(
            harness,
            [
                point("a", 7.42, #","openingHours":"mo-fr 8:30-17:00""#), point("b", 7.42, #","openingHours":"PH off""#),
                point("c", 7.42, #","openingHours":"Mo-Fr 09:00-10:00; PH off""#),
                point("d", 7.42, #","openingHours":"SH 09:00-10:00""#),
                point("e", 7.42, #","openingHours":"Mo-Fr 09:00-10:00""#),
            ])
        let warnings = result?["warnings"]?.elements.compactMap(\.text) ?? []
        #expect(
            warnings == [
                "openingHours of `a` are read as `Mo-Fr 08:30-17:00`",
                "openingHours of `b`: without a list of public holidays `PH` never matches",
                "openingHours of `d`: without a list of school holidays `SH` never matches",
            ])
        let listed = importPlaces(
            harness, [point("b", 7.42, #","openingHours":"PH off","holidays":{"PH":["2026-12-25"]}"#)])
        #expect(listed?["warnings"]?.elements.isEmpty == true)
    }

    @Test("A radius of a place, as other systems have it, was dropped without a word: it is reported once")
    func radius() {
        let harness = HubHarness()
        let result = importPlaces(
            harness, [point("a", 7.42, ""), point("b", 7.42, #","radius":50"#), point("c", 7.42, #","radius":60"#)])
        #expect(result?["imported"]?.number == 3)
        #expect(
            result?["warnings"]?.elements.compactMap(\.text) == [
                "the place `b` has a radius, which is not used: a place is a point or an outline, a geofence a circle"
            ])
    }

    @Test("Places belong to who wrote them first, are read by all, and administrators may do all")
    func ownership() {
        let harness = HubHarness()
        importPlaces(harness, [point("a")])
        let result = importPlaces(harness, [point("a", 8), point("b")], client: "bob")
        #expect(result?["imported"]?.number == 1)
        #expect(result?["refused"]?.elements.compactMap { $0["error"]?.refusal } == ["forbidden id"])
        #expect(harness.result("place/get", #"{"id":"a"}"#, client: "bob")?["longitude"]?.number == 7.42)
        #expect(harness.refusal("place/delete", #"{"id":"a"}"#, client: "bob") == "forbidden id")
        #expect(importPlaces(harness, [point("a", 8)], client: "admin")?["replaced"]?.number == 1)
        #expect(harness.result("place/get", #"{"id":"a"}"#)?["owner"]?.text == "alice")
        #expect(harness.refusal("place/delete", #"{"id":"a","revision":"1-0"}"#) == "conflict revision")
        #expect(harness.result("place/delete", #"{"id":"a"}"#) == ["id": "a", "state": "deleted"])
        #expect(harness.refusal("place/get", #"{"id":"a"}"#) == "notFound id")
        #expect(harness.refusal("place/delete", #"{"id":"a"}"#) == "notFound id")
    }

    @Test(
        "A request that is wrong is refused as a whole",
        arguments: [
            ("place/import", "{}", "invalid places"), ("place/import", #"{"places":{"type":"Feature"}}"#, "invalid places.type"),
            ("place/import", #"{"places":{"type":"FeatureCollection"}}"#, "invalid places.features"),
            ("place/get", "{}", "invalid id"), ("place/list", #"{"within":{}}"#, "invalid within"),
            ("place/list", #"{"limit":0}"#, "invalid limit"), ("place/candidates", "{}", "invalid latitude"),
            ("place/candidates", #"{"deviceId":"nobody"}"#, "notFound deviceId"),
            ("place/candidates", #"{"deviceId":"phone","latitude":43.73,"longitude":7.42}"#, "invalid latitude"),
            ("place/candidates", #"{"deviceId":"phone","horizontalAccuracy":5}"#, "invalid horizontalAccuracy"),
            ("place/verify", #"{"deviceId":"phone","placeId":"nowhere"}"#, "notFound placeId"),
            ("category/import", "{}", "invalid categories"),
            (
                "category/import", #"{"categories":[{"id":"a","name":"A","parentId":"b"},{"id":"b","name":"B","parentId":"a"}]}"#,
                "invalid categories"
            ),
        ])
    func refusedRequests(_ row: (name: String, payload: String, refusal: String)) {
        let harness = HubHarness()
        harness.makePair()
        #expect(harness.refusal(row.name, row.payload) == row.refusal)
        #expect(harness.result("category/list")?["categories"]?.elements.isEmpty == true)
    }

    @Test("Lists are filtered by area, category with what is below it, and chain, and come in pages")
    func lists() {
        let harness = HubHarness()
        _ = harness.result(
            "category/import",
            #"{"categories":[{"id":1,"name":"Food"},{"id":"2","name":"Café","parentId":1},{"id":"3","name":"x","parentId":"9"}]}"#
        )
        importPlaces(
            harness,
            (0..<50).map {
                point(
                    "p\($0 < 10 ? "0" : "")\($0)", 7 + Double($0) / 1000,
                    $0 % 5 == 0 ? #","categoryIds":["2"],"chainId":"Q\#($0 % 2)""# : "")
            })
        let circle = #""within":{"circle":{"latitude":43.73,"longitude":7.01,"radius":100}}"#
        #expect(ids(harness.result("place/list", "{\(circle)}")) == ["p09", "p10", "p11"])
        #expect(ids(harness.result("place/list", #"{\#(circle),"categoryId":"1"}"#)) == ["p10"])
        #expect(ids(harness.result("place/list", #"{"categoryId":1,"chainId":"Q1"}"#)) == ["p05", "p15", "p25", "p35", "p45"])
        #expect(ids(harness.result("place/list", #"{"categoryId":"unknown"}"#)).isEmpty)
        var all: [String] = []
        var after = ""
        repeat {
            let page = harness.result("place/list", #"{"limit":7,"categoryId":"1"\#(after)}"#)
            all += ids(page)
            after = page?["next"]?.text.map { #","after":"\#($0)""# } ?? ""
        } while !after.isEmpty
        #expect(all == stride(from: 0, to: 50, by: 5).map { "p\($0 < 10 ? "0" : "")\($0)" })
    }

    @Test("A list's reply stays below 256 KiB and goes on where it ended")
    func largePages() {
        let harness = HubHarness()
        let ring = (0...300).map { "[\(7 + 0.01 * Double($0)),\(43 + ($0 == 0 || $0 == 300 ? 0 : 0.001 * Double($0 % 7 + 1)))]" }
        for index in 0..<60 {
            importPlaces(
                harness,
                [
                    #"{"id":"p\#(100 + index)","geometry":{"type":"Polygon","coordinates":[[\#(ring.joined(separator: ",")),[8,42],[7,43]]]}}"#
                ])
        }
        var all: [String] = []
        var after = ""
        repeat {
            harness.published.removeAll()
            let page = harness.result("place/list", "{\(after)}")
            #expect((page?.serialised().count ?? 0) < 256 << 10)
            all += ids(page)
            after = page?["next"]?.text.map { #""after":"\#($0)""# } ?? ""
        } while !after.isEmpty
        #expect(all == (0..<60).map { "p\(100 + $0)" })
    }

    @Test("A misspelt member of a category was left out without a word")
    func misspeltCategory() {
        let harness = HubHarness()
        let report = harness.result(
            "category/import",
            #"{"categories":[{"id":"a","name":"A","parentid":"b"},{"id":"b","name":"B","colour":1},{"id":"c","name":"C"}]}"#)
        #expect(report?["imported"]?.number == 1)
        let errors = report?["refused"]?.elements.compactMap { $0["error"] } ?? []
        #expect(errors.map(\.refusal) == ["invalid parentid", "invalid colour"])
        #expect(errors.first?["message"]?.text?.contains("did you mean `parentId`?") == true, "\(errors)")
        #expect(errors.last?["message"]?.text?.contains("`id`, `name`, `parentId`") == true, "\(errors)")
        // What is listed may come back, and documents may have members of their own.
        let listed = #"{"id":"c","name":"C","owner":"alice","revision":"1-x"}"#
        #expect(harness.result("category/import", #"{"categories":[\#(listed)]}"#)?["replaced"]?.number == 1)
        let pushed = harness.result(
            "changes/push", #"{"docs":[{"type":"category","id":"d","revision":"1-a","name":"D","colour":1}]}"#)
        #expect(
            pushed?["results"]?.elements.count == 1 && pushed?["results"]?.elements.first?["error"] == nil, "\(pushed as Any)")
    }

    @Test("Categories are replaced, warn of unknown parents, keep their owner, and a cycle refuses all")
    func categories() {
        let harness = HubHarness()
        let first = harness.result(
            "category/import", #"{"categories":[{"id":"a","name":"A","parentId":"z"},{"id":"b"},{"id":"c","name":"C"},7]}"#)
        #expect(first?["imported"]?.number == 2)
        #expect(first?["refused"]?.elements.compactMap { $0["error"]?.refusal } == ["invalid name", "invalid categories"])
        #expect(first?["warnings"]?.elements.count == 1)
        let second = harness.result("category/import", #"{"categories":[{"id":"a","name":"A2"}]}"#, client: "bob")
        #expect(second?["refused"]?.elements.compactMap { $0["error"]?.refusal } == ["forbidden id"])
        #expect(harness.result("category/import", #"{"categories":[{"id":"a","name":"A2"}]}"#)?["replaced"]?.number == 1)
        #expect(
            harness.refusal(
                "category/import",
                #"{"categories":[{"id":"new","name":"N"},{"id":"a","name":"A","parentId":"c"},{"id":"c","name":"C","parentId":"a"}]}"#
            )
                == "invalid categories")
        let list = harness.result("category/list", client: "bob")?["categories"]?.elements
        #expect(list?.map { $0["id"]?.text } == ["a", "c"] && list?.first?["name"]?.text == "A2")
        #expect(list?.first?["revision"]?.text?.hasPrefix("2-") == true && list?.first?["parentId"] == nil)
    }

    @Test("A configured maximum is reported")
    func limits() {
        let harness = HubHarness {
            $0.limits.places = 2
            $0.limits.categories = 1
            $0.limits.clientShare = 100
        }
        let result = importPlaces(harness, ["a", "b", "c"].map { point($0) })
        #expect(result?["imported"]?.number == 2)
        #expect(result?["refused"]?.elements.compactMap { $0["error"]?.refusal } == ["limit"])
        #expect(
            harness.refusal("category/import", #"{"categories":[{"id":"a","name":"A"},{"id":"b","name":"B"}]}"#)
                == "limit categories")
    }

    @Test("What is beyond a maximum that was lowered is there after a restart, and nothing is added to it")
    func loweredLimit() {
        let harness = HubHarness()
        importPlaces(harness, ["a", "b", "c"].map { point($0) })
        harness.adjust { $0.limits.places = 2 }
        harness.restart()
        #expect(ids(harness.result("place/list")) == ["a", "b", "c"])
        let result = importPlaces(harness, [point("c", 7.43), point("d")])
        #expect(result?["replaced"]?.number == 1)
        #expect(result?["refused"]?.elements.compactMap { $0["error"]?.refusal } == ["limit"])
    }

    // MARK: Durability

    @Test("Everything comes back after a kill, and goes with its dataset")
    func restart() {
        let harness = HubHarness()
        _ = harness.result(
            "category/import", #"{"categories":[{"id":"food","name":"Food"},{"id":"cafe","name":"Café","parentId":"food"}]}"#)
        importPlaces(harness, [point("a", 7.42, Self.whole), point("b"), point("c")])
        _ = harness.result("place/delete", #"{"id":"b"}"#)
        let before = (harness.result("place/list", #"{"categoryId":"food"}"#), harness.result("category/list"))
        #expect(ids(before.0) == ["a"])
        harness.restart(killed: true)
        #expect(
            harness.result("place/list", #"{"categoryId":"food"}"#) == before.0 && harness.result("category/list") == before.1)
        _ = harness.request("dataset/delete", client: "admin")
        _ = harness.request("dataset/create", client: "admin")
        #expect(ids(harness.result("place/list")).isEmpty)
        harness.restart()
        #expect(ids(harness.result("place/list")).isEmpty)
    }

    @Test(
        "A store that refuses changes nothing of places",
        arguments: [
            (
                "place/import",
                #"{"places":{"type":"FeatureCollection","features":[{"id":"a","geometry":{"type":"Point","coordinates":[1,1]}},{"id":"n","geometry":{"type":"Point","coordinates":[1,1]}}]}}"#
            ),
            ("place/delete", #"{"id":"a"}"#), ("place/verify", #"{"deviceId":"pin","placeId":"a"}"#),
            ("category/import", #"{"categories":[{"id":"food","name":"Other"},{"id":"new","name":"N"}]}"#),
        ])
    func refusedByStore(_ row: (name: String, payload: String)) {
        let harness = HubHarness()
        harness.makePair()
        _ = harness.result("category/import", #"{"categories":[{"id":"food","name":"Food"}]}"#)
        importPlaces(harness, [point("a", 7.42, Self.whole), point("b", 7.4201)])
        _ = harness.result("place/candidates", #"{"deviceId":"pin"}"#)
        func view() -> [JSONValue?] {
            [
                harness.result("place/list"), harness.result("category/list"),
                harness.result("place/candidates", #"{"latitude":43.73,"longitude":7.42}"#),
            ]
        }
        let before = view()
        harness.isDiskFull = true
        #expect(harness.refusal(row.name, row.payload) == "internal")
        #expect(view() == before)
        harness.heal()
        #expect(harness.request(row.name, row.payload)?["result"] != nil)
        #expect(view() != before)
    }

    // MARK: Candidates

    @Test("Candidates are ranked by their probability, with what is known of each")
    func candidates() throws {
        let harness = HubHarness()
        importPlaces(
            harness,
            [
                point("near", 7.42, #","name":"Near","categoryIds":["cafe"],"chainId":"Q1","openingHours":"24/7""#),
                point("far", 7.4206), point("away", 7.44),
                #"{"id":"house","geometry":{"type":"Polygon","coordinates":[[[7.4199,43.7299],[7.4201,43.7299],[7.4201,43.7301],[7.4199,43.7301],[7.4199,43.7299]]]}}"#,
            ])
        let result = harness.result("place/candidates", #"{"latitude":43.73,"longitude":7.42,"horizontalAccuracy":10}"#)
        #expect(result?["latitude"]?.number == 43.73 && result?["longitude"]?.number == 7.42)
        let found = result?["candidates"]?.elements ?? []
        #expect(found.compactMap { $0["place_id"]?.text } == ["near", "house", "far"])
        // What nobody said of a place is shown as unknown.
        #expect(found[1]["name"] == .null && found[1]["placerank"] == .null)
        let near = try #require(found.first)
        #expect(near["name"]?.text == "Near" && near["chain_id"]?.text == "Q1" && near["place_category_ids"] == ["cafe"])
        #expect(near["is_open"] == true && (near["distance"]?.number ?? 1) < 0.02 && near["distance_to"]?.text == "point")
        // The house is a rival.
        #expect(near["threshold_met"]?.text == "low" && found.last?["is_open"] == nil)
        #expect(found[1]["distance_to"]?.text == "polygon")
        // A name is always there, a chain is not.
        #expect(found.last?["name"] == .null && found.last?["chain_id"] == nil)
        let sum = found.reduce(0) { $0 + ($1["probability"]?.number ?? 0) }
        #expect(sum <= 1 && sum > 0.5)
    }

    @Test("A device's own candidates can be verified, each once, and come to more from then on")
    func verification() {
        let harness = HubHarness()
        importPlaces(harness, [point("a", 7.42), point("b", 7.4202)])
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"phone"}"#)
        #expect(harness.refusal("place/candidates", #"{"deviceId":"phone"}"#) == "notFound deviceId")
        harness.send("d/-/-/-/-/phone/position", #"{"lat":43.73,"lon":7.4201,"acc":20,"speed":1.4}"#)
        #expect(harness.refusal("place/verify", #"{"deviceId":"phone","placeId":"a"}"#) == "invalid placeId")
        func share(_ id: String) -> Double {
            let found = harness.result("place/candidates", #"{"deviceId":"phone"}"#)?["candidates"]?.elements ?? []
            return found.first { $0["place_id"]?.text == id }?["probability"]?.number ?? 0
        }
        let before = share("b")
        for _ in 0..<2 {
            #expect(harness.result("place/verify", #"{"deviceId":"phone","placeId":"b"}"#) == ["verified": true])
        }
        let after = share("b")
        #expect(after > before && after > share("a"))
        #expect(harness.changes.filter { if case .put(is VerificationRecord) = $0 { true } else { false } }.count == 1)
        harness.restart(killed: true)
        harness.send("d/-/-/-/-/phone/position", #"{"lat":43.73,"lon":7.4201,"acc":20}"#)
        #expect(share("b") == after)
        #expect(harness.refusal("place/candidates", #"{"deviceId":"phone"}"#, client: "bob") == "forbidden deviceId")
    }

    @Test("Of who stays, the mean of the fixes counts, until the device goes or is set elsewhere")
    func stays() throws {
        let harness = HubHarness()
        importPlaces(harness, [point("a", 7.42)])
        func asked() throws -> (longitude: Double, probability: Double) {
            let result = try #require(harness.result("place/candidates", #"{"deviceId":"phone"}"#))
            let first = result["candidates"]?.elements.first?["probability"]?.number
            return (try #require(result["longitude"]?.number), first ?? 0)
        }
        func fix(_ longitude: Double) {
            harness.send("d/-/-/-/-/phone/position", #"{"lat":43.73,"lon":\#(longitude),"acc":30}"#)
            harness.advance(milliseconds: 15_000)
        }
        fix(7.4201)
        let single = try asked()
        #expect(single.longitude == 7.4201)
        for number in 1...20 { fix(number % 2 == 0 ? 7.4201 : 7.4199) }
        let stay = try asked()
        #expect(abs(stay.longitude - 7.42) < 0.00001 && stay.probability > single.probability)
        fix(7.4301)
        #expect(try asked().longitude == 7.4301)
        for _ in 1...20 { fix(7.4300) }
        _ = harness.request("device/update", #"{"id":"phone","location":{"lat":43.73,"lon":7.4302}}"#)
        #expect(try asked().longitude == 7.4302)
    }

    @Test("Activities come first where a speed was sent", arguments: [(0.1, "stationary"), (1.4, "walking"), (12, "driving")])
    func activities(_ row: (speed: Double, name: String)) {
        let harness = HubHarness()
        importPlaces(harness, [point("a")])
        harness.send("d/-/-/-/-/phone/position", #"{"lat":43.73,"lon":7.42,"speed":\#(row.speed)}"#)
        let found = harness.result("place/candidates", #"{"deviceId":"phone","activities":true}"#)?["candidates"]?.elements
        #expect(found?.first?["name"]?.text == row.name && (found?.first?["confidence"]?.number ?? 0) > 0.5)
        #expect(found?.count == 2 && found?.last?["place_id"]?.text == "a")
        harness.send("d/-/-/-/-/phone/position", #"{"lat":43.73,"lon":7.42}"#)
        #expect(
            harness.result("place/candidates", #"{"deviceId":"phone","activities":true}"#)?["candidates"]?.elements.count == 1)
    }

    @Test("Whatever is imported, nothing traps, and what was taken can be read")
    func fuzz() {
        var random = SplitMix64.forTest()
        let harness = HubHarness()
        let parts: [JSONValue] = [
            "x", "", "-", 5, 1.5, 1e300, nil, true, [], [1, 2], ["a"], [:], "Europe/Paris", "Mo 10:00-",
            [[0, 0], [1, 0], [1, 1]], [[[0, 0], [1, 0], [1, 1]]],
            "Polygon", "Point", "MultiPolygon",
        ]
        let keys = [
            "id", "name", "categoryIds", "chainId", "openingHours", "timeZone", "placerank", "holidays", "geometry", "properties",
            "type", "coordinates", "PH", "SH",
        ]
        func value(_ depth: Int) -> JSONValue {
            guard depth > 0, random.chance(60) else { return random.pick(parts) }
            return .object(JSONObject((0..<random.below(6)).map { _ in (random.pick(keys), value(depth - 1)) }))
        }
        for _ in 0..<3000 {
            let feature = String(decoding: value(3).serialised(), as: UTF8.self)
            let result = importPlaces(harness, [feature])
            #expect(result != nil, "\(feature)")
        }
        #expect(harness.result("place/list") != nil)
    }
}
