import SeededRandom
import Testing
import Wire

@testable import DaemonCore
@testable import Datasets
@testable import Records

@Suite("Reads of very many objects")
struct SearchTests {
    /// More than is looked at in one turn.
    private static let many = 5 * Hub.searchEffort

    private func harness(_ count: Int = many) -> HubHarness {
        let harness = HubHarness()
        for first in stride(from: 0, to: count, by: 500) {
            let items = (first..<min(first + 500, count)).map { number in
                #"{"id":"x\#(number * 7919 % 100_003)","deviceType":"MobileDevice"}"#
            }
            _ = harness.result("device/create", #"{"items":[\#(items.joined(separator: ","))]}"#, client: "admin")
        }
        return harness
    }

    private func publish(_ harness: HubHarness, _ number: Int, _ value: Int) {
        harness.send("d/-/-/-/r/l\(number)/note", #"{"v":\#(value)}"#)
    }

    /// Asks, and returns how many turns the reply took and what it says.
    private func ask(
        _ harness: HubHarness, _ request: String, _ parameters: String, client: String = "admin",
        _ meanwhile: (Int) -> Void = { _ in }
    ) -> (turns: Int, reply: JSONValue?) {
        harness.published.removeAll()
        harness.send("geomatch/d/\(client)/request/\(request)", parameters)
        for turns in 0..<1000 {
            if let reply = harness.takeReply(client: client) { return (turns, reply) }
            meanwhile(turns)
            harness.core.begin()
            _ = harness.hub.continueSearching(&harness.core.turn)
            harness.core.end()
        }
        return (1000, nil)
    }

    @Test(
        "A live subscription had a large dataset's daemon stand still until what it will show was counted: it takes turns",
        arguments: ["", "unsubscribed", "replaced", "deleted", "killed"])
    func countsInTurns(_ meanwhile: String) {
        let harness = HubHarness()
        for number in 0..<Self.many { publish(harness, number, number % 2) }
        let shown = { harness.payloads("geomatch/d/alice/live/l").count }
        let subscribe = #"{"id":"l","criteria":"d/#","where":"v = 1"}"#
        harness.published.removeAll()
        harness.send("geomatch/d/alice/request/live/subscribe", subscribe)
        // Counted already, and let through from now on.
        publish(harness, 0, 1)
        var turns = 0
        while harness.hub.isSearching {
            #expect(shown() == 0)
            if turns == 1 {
                switch meanwhile {
                case "unsubscribed": #expect(harness.result("live/unsubscribe", #"{"id":"l"}"#) != nil)
                case "replaced":
                    harness.send("geomatch/d/alice/request/live/subscribe", #"{"id":"l","criteria":"d/#","where":"v = 2"}"#)
                case "deleted":
                    harness.isDiskSlow = true
                    harness.send("geomatch/d/admin/request/dataset/delete", "{}")
                    #expect(!harness.hub.isSearching)
                    continue
                case "killed": return killed()
                default: break
                }
            }
            harness.core.begin()
            _ = harness.hub.continueSearching(&harness.core.turn)
            harness.end()
            turns += 1
        }
        harness.isDiskSlow = false
        _ = harness.core.tick()
        harness.settle()
        if meanwhile == "deleted" { #expect(harness.takeReply()?["error"]?["error"]?.text == "unknownDataset") }
        let counts = (0..<2).compactMap { _ in harness.takeReply()?["result"]?["snapshot"]?.number }
        switch meanwhile {
        case "unsubscribed":
            // It took as long as the subscription was there.
            #expect(counts.count == 1 && counts[0] < Double(Self.many / 2) && shown() == 0)
        case "deleted": #expect(harness.hub.datasetNames.isEmpty && shown() == 0)
        case "replaced": #expect(counts.count == 2 && counts.contains(0) && shown() == 0)
        default: #expect(turns >= 3 && counts == [Double(Self.many / 2)] && shown() == Self.many / 2 + 1)
        }
        publish(harness, 2, 1)
        #expect(shown() == (meanwhile.isEmpty ? Self.many / 2 + 2 : 0))
        harness.restart()
        let listed = harness.result("live/list")?["subscriptions"]?.elements.count
        #expect(listed == (["unsubscribed", "deleted"].contains(meanwhile) ? 0 : 1))

        func killed() {
            harness.restart(killed: true)
            #expect(harness.result("live/list")?["subscriptions"]?.elements.isEmpty == true)
            #expect(harness.result("live/subscribe", subscribe) != nil)
        }
    }

    @Test(
        "One list, in which little was found, had a large dataset's daemon stand still: it takes turns",
        arguments: [
            ("device/list", #"{"deviceType":"PinDevice"}"#, "devices"), ("beacon/list", "{}", "beacons"),
            ("live/snapshot", #"{"criteria":"d/#","where":"v = -1"}"#, "updates"),
            ("structure/list", #"{"level":"room"}"#, "objects"), ("geofence/inside", #"{"id":"g"}"#, "devices"),
        ])
    func takesTurns(_ request: String, _ parameters: String, _ list: String) {
        let harness = harness()
        if request == "live/snapshot" { for number in 0..<Self.many { publish(harness, number, 1) } }
        if request == "structure/list" {
            for first in stride(from: 0, to: Self.many, by: 500) {
                let venues = (first..<first + 500).map { FloorPlan.feature(#""level":"venue","id":"v\#($0)""#) }
                _ = harness.result("dataset/import", FloorPlan.collection(venues), client: "admin")
            }
            #expect(harness.hub.datasets["d"]?.structure.tree.all.count == Self.many)
        }
        if request == "geofence/inside" {
            _ = harness.result(
                "geofence/create", #"{"id":"g","area":{"circle":{"latitude":1,"longitude":1,"radius":1000}}}"#, client: "admin")
            for number in 0..<Self.many {
                harness.send("d/-/-/-/-/x\(number * 7919 % 100_003)/position", #"{"lat":1,"lon":1}"#)
            }
            harness.advance(milliseconds: 1000)
        }
        var others = 0
        let (turns, reply) = ask(harness, request, parameters) { _ in
            if harness.result("device/get", #"{"id":"x0"}"#, client: "admin") != nil { others += 1 }
        }
        #expect(turns > 2 && others == turns && !harness.core.hub.isSearching)
        let found = reply?["result"]?[list]?.elements.count
        #expect(found == (request == "geofence/inside" ? 1000 : 0))
    }

    @Test("Pages are those of all at once, in order, whatever changes meanwhile")
    func pages() {
        var random = SplitMix64.forTest()
        let harness = harness(3000)
        for number in 0..<3000 { publish(harness, number, number % 3) }
        var stays = Set((0..<3000).map { "x\($0 * 7919 % 100_003)" })
        var topics = Set((0..<3000).filter { $0 % 3 == 1 }.map { "d/-/-/-/r/l\($0)/note" })
        for (request, list, key) in [("device/list", "devices", "id"), ("live/snapshot", "updates", "topic")] {
            var found: [String] = []
            var after: String?
            repeat {
                let limit = 1 + random.below(700)
                let behind = after.map { #","after":"\#($0)""# } ?? ""
                let criteria = request == "live/snapshot" ? #","criteria":"d/#","where":"v = 1""# : ""
                let (_, reply) = ask(harness, request, #"{"limit":\#(limit)\#(behind)\#(criteria)}"#) { _ in
                    // Some go and some come while it is looked for.
                    let number = random.below(3000)
                    if request == "device/list" {
                        let id = "x\(number * 7919 % 100_003)"
                        if harness.result("device/delete", #"{"id":"\#(id)"}"#, client: "admin") != nil { stays.remove(id) }
                    } else {
                        publish(harness, number, 2)
                        topics.remove("d/-/-/-/r/l\(number)/note")
                    }
                }
                let page = reply?["result"]?[list]?.elements.compactMap { $0[key]?.text } ?? []
                #expect(page.count <= limit)
                found += page
                after = reply?["result"]?["next"]?.text
            } while after != nil
            #expect(found == found.sorted { ByteKey($0) < ByteKey($1) } && Set(found).count == found.count)
            #expect(Set(found).isSuperset(of: request == "device/list" ? stays : topics))
        }
    }

    @Test("One that is asked again under its requestId is answered once for both")
    func repeated() {
        let harness = harness()
        let parameters = #"{"requestId":"1","deviceType":"PinDevice"}"#
        harness.send("geomatch/d/admin/request/device/list", parameters)
        harness.send("geomatch/d/admin/request/device/list", parameters)
        #expect(harness.payloads("geomatch/d/admin/reply").isEmpty && harness.hub.searches.count == 1)
        harness.advance(milliseconds: 100)
        #expect(harness.payloads("geomatch/d/admin/reply").count == 2)
    }

    @Test("Many at once had a list of all there is each: few are under way, in turn, and all are answered")
    func underWay() {
        let harness = harness()
        for number in 0..<100 {
            harness.send("geomatch/d/c\(number)/request/device/list", #"{"deviceType":"PinDevice"}"#)
        }
        #expect(harness.hub.searches.filter { $0.search != nil }.count == Hub.searchesUnderWay)
        while harness.hub.isSearching {
            harness.core.begin()
            _ = harness.hub.continueSearching(&harness.core.turn)
            harness.core.end()
            #expect(harness.hub.searches.filter { $0.search != nil }.count <= Hub.searchesUnderWay)
        }
        #expect(harness.published.filter { $0.topic.hasSuffix("/reply") }.count == 100)
    }

    @Test("A device that another client made under the same id meanwhile was shown")
    func anotherDevice() {
        let harness = harness()
        _ = harness.result("device/create", #"{"id":"a","deviceType":"MobileDevice","name":"alice's"}"#)
        let (turns, reply) = ask(harness, "device/list", "{}", client: "alice") { turn in
            guard turn == 0 else { return }
            _ = harness.result("device/delete", #"{"id":"a"}"#)
            _ = harness.result("device/create", #"{"id":"a","deviceType":"MobileDevice","name":"bob's"}"#, client: "bob")
        }
        #expect(turns > 2 && reply?["result"]?["devices"]?.elements.isEmpty == true)
    }

    @Test("One whose dataset is deleted is refused, and one whose positions become private begins again")
    func changes() {
        let harness = harness(10)
        for number in 0..<Self.many { harness.send("d/-/-/-/-/y\(number)/position", #"{"lat":1,"lon":1}"#) }
        let (_, hidden) = ask(harness, "live/snapshot", #"{"criteria":"d/+/+/+/+/+/position","limit":10}"#, client: "bob") {
            turn in
            if turn == 2 { _ = harness.result("dataset/update", #"{"livePositions":"none"}"#, client: "admin") }
        }
        #expect(hidden?["result"]?["updates"]?.elements.isEmpty == true)
        let (_, deleted) = ask(harness, "device/list", #"{"deviceType":"PinDevice"}"#) { turn in
            if turn == 2 { _ = harness.result("dataset/delete", "{}", client: "admin") }
        }
        #expect(deleted?["error"]?.refusal.hasPrefix("unknownDataset") == true)
    }
}

@Suite("Ids in order")
struct SortedIDsTests {
    @Test("are those of a sorted set, whatever comes and goes")
    func twin() {
        var random = SplitMix64.forTest()
        for range in [30, 5000, 100_000] {
            var ids = SortedIDs()
            var all = Set<String>()
            for _ in 0..<8000 {
                let id = "\(random.below(range))"
                if random.chance(60) {
                    ids.insert(id)
                    all.insert(id)
                } else {
                    ids.remove(id)
                    all.remove(id)
                }
            }
            let sorted = all.sorted { ByteKey($0) < ByteKey($1) }
            #expect(ids.ids(after: nil, count: .max) == sorted)
            for _ in 0..<100 {
                let (after, count) = ("\(random.below(range))", random.below(2000))
                let behind = sorted.filter { ByteKey(after) < ByteKey($0) }.prefix(count)
                #expect(ids.ids(after: after, count: count) == Array(behind))
            }
        }
    }

    @Test("that come in order fill their chunks")
    func inOrder() {
        var ids = SortedIDs()
        let all = (0..<3000).map { String(10_000 + $0) }
        for id in all { ids.insert(id) }
        #expect(ids.ids(after: "10999", count: 2) == ["11000", "11001"] && ids.ids(after: nil, count: .max) == all)
    }
}
