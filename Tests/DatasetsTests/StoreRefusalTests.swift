import Testing
import Wire

@testable import Datasets
@testable import Records

@Suite("A store that refuses")
struct StoreRefusalTests {
    /// Everything a client can ask about the objects of the pair.
    private func view(_ harness: HubHarness) -> [JSONValue?] {
        [
            harness.result("device/list", client: "admin"), harness.result("dataset/get"),
            harness.result("publication/list", #"{"deviceId":"pin"}"#),
            harness.result("subscription/list", #"{"deviceId":"phone"}"#),
            harness.result("match/list", #"{"deviceId":"phone"}"#),
        ]
    }

    private func live(_ harness: HubHarness) -> [String: JSONValue?] {
        harness.retained.filter { $0.key.hasPrefix("live/") }.mapValues { try? JSONValue.parse($0) }
    }

    @Test(
        "changes nothing of what was asked",
        arguments: [
            ("device/update", #"{"id":"phone","name":"n","location":{"lat":5,"lon":5}}"#),
            ("device/update", #"{"id":"phone","location":{"lat":43.73,"lon":7.42}}"#),
            ("device/update", #"{"id":"phone","location":null}"#),
            ("device/create", #"{"id":"q","deviceType":"PinDevice","location":{"lat":5,"lon":5}}"#),
            ("device/delete", #"{"id":"phone"}"#), ("device/forget", #"{"id":"phone"}"#),
            ("publication/create", #"{"id":"q","deviceId":"pin","topic":"coffee","range":4000,"duration":60}"#),
            ("publication/create", #"{"id":"q","deviceId":"pin","topic":"coffee","range":4000,"duration":0}"#),
            ("publication/update", #"{"id":"p","range":4000}"#), ("publication/delete", #"{"id":"p"}"#),
            ("subscription/create", #"{"id":"q","deviceId":"phone","topic":"coffee","range":4000,"duration":60}"#),
            ("subscription/update", #"{"id":"s","range":4000}"#), ("subscription/delete", #"{"id":"s"}"#),
            ("dataset/delete", "{}"),
            ("dataset/update", #"{"name":"n"}"#),
        ])
    func nothingChanged(_ request: (name: String, payload: String)) {
        let harness = HubHarness()
        harness.makePair()
        harness.send("d/room/-/-/-/phone/position", #"{"lat":43.74,"lon":7.42}"#)
        let before = (view(harness), live(harness))
        harness.isDiskFull = true
        #expect(harness.refusal(request.name, request.payload, client: "admin") == "internal")
        #expect(harness.matches.isEmpty)
        // Again, now that it is known.
        #expect(harness.refusal(request.name, request.payload, client: "admin") == "internal")
        #expect(view(harness) == before.0)
        #expect(live(harness) == before.1)
        harness.heal()
        #expect(view(harness) == before.0)
        // Nothing of it is left in the engine either: this is the pair's first meeting.
        harness.published.removeAll()
        harness.move(metres: 1)
        #expect(harness.matches.count == 1)
        harness.restart()
        #expect(harness.result("subscription/get", #"{"id":"s"}"#)?["delivery"]?["matched"]?.number == 1)
        #expect(harness.refusal(request.name, request.payload, client: "admin") == nil)
    }

    @Test("creates no dataset, nor keeps what came for it")
    func noDataset() {
        let harness = HubHarness()
        harness.isDiskFull = true
        let tree = "geomatch/d/alice/request/"
        harness.batch([
            .init(tree + "device/create", #"{"deviceType":"PinDevice","id":"pin","location":{"lat":1,"lon":1}}"#),
            .init("d/-/-/-/-/x/position", #"{"lat":1,"lon":1}"#),
        ])
        #expect(harness.takeReply()?["error"]?.refusal == "internal")
        #expect(harness.hub.datasets.isEmpty && harness.hub.liveStates.count == 0)
        harness.heal()
        harness.restart()
        #expect(harness.hub.datasets.isEmpty)
        #expect(harness.result("device/create", #"{"deviceType":"MobileDevice","id":"x"}"#)?["location"] == nil)
    }

    @Test("has datasets said to be there once it holds them: what nobody asked for behind the refusal, too")
    func durableDatasets() {
        let harness = HubHarness()
        harness.isDiskSlow = true
        harness.send("d/-/-/-/-/x/position", #"{"lat":1,"lon":1}"#)
        #expect(harness.hub.datasetNames == ["d"] && harness.durableDatasets == [])
        harness.isDiskSlow = false
        #expect(harness.durableDatasets == ["d"])
        harness.isDiskFull = true
        harness.batch([
            .init("kept/-/-/-/-/x/position", #"{"lat":1,"lon":1}"#),
            .init("geomatch/asked/alice/request/dataset/create", "{}"),
            .init("geomatch/kept/alice/request/device/create", #"{"deviceType":"MobileDevice"}"#),
        ])
        #expect(harness.durableDatasets == ["d"])
        harness.heal()
        #expect(harness.hub.datasetNames == ["d", "kept"] && harness.durableDatasets == ["d", "kept"])
    }

    @Test("gets internal, which is logged with the same id and not remembered")
    func internalReply() {
        let harness = HubHarness()
        harness.makePair()
        harness.isDiskFull = true
        var ids = Set<String>()
        for _ in 0..<3 {
            let error = harness.request("publication/delete", #"{"requestId":"1","id":"p"}"#)?["error"]
            #expect(error?["code"]?.number == 500)
            ids.insert(String(error?["message"]?.text?.suffix(36) ?? ""))
        }
        #expect(ids.count == 1)
        #expect(
            harness.notices.filter { $0.hasPrefix("request failed") } == [
                "request failed id=\(ids.first ?? "") request=publication/delete"
            ])
        harness.heal()
        #expect(harness.result("publication/delete", #"{"requestId":"1","id":"p"}"#)?["state"]?.text == "deleted")
    }

    @Test("leaves first replies that are durable as they are")
    func repeated() {
        let harness = HubHarness()
        harness.makePair()
        let first = harness.request("publication/update", #"{"requestId":"1","id":"p","range":60}"#)
        harness.isDiskFull = true
        let tree = "geomatch/d/alice/request/"
        harness.published.removeAll()
        harness.batch([
            .init(tree + "publication/update", #"{"requestId":"2","id":"p","range":70}"#),
            .init(tree + "publication/update", #"{"requestId":"1","id":"p","range":80}"#),
            .init(tree + "publication/update", #"{"requestId":"2","id":"p","range":90}"#),
        ])
        let replies = harness.published.filter { $0.topic.hasSuffix("/reply") }.compactMap(\.json)
        #expect(replies.count == 3 && replies[1] == first)
        #expect(replies[0]["error"]?.refusal == "internal" && replies[2]["error"]?.refusal == "internal")
        harness.heal()
        #expect(harness.request("publication/update", #"{"requestId":"1","id":"p","range":80}"#) == first)
        #expect(harness.result("publication/update", #"{"requestId":"2","id":"p","range":70}"#)?["range"]?.number == 70)
    }

    @Test("does not stop live state and matching; matches wait, and it heals")
    func goesOn() {
        let harness = HubHarness()
        harness.makePair("", #","matchTTL":0"#)
        harness.isDiskFull = true
        harness.published.removeAll()
        for metres in 1...3 {
            harness.move(metres: Double(metres))
            harness.advance(milliseconds: 1200)
        }
        harness.send("d/-/-/-/-/new/position", #"{"lat":1,"lon":1}"#)
        #expect(harness.matches.isEmpty)
        #expect(harness.published.filter { $0.topic.hasPrefix("live/") }.count == 4)
        #expect(harness.result("device/get", #"{"id":"new"}"#) != nil)
        #expect(harness.refusal("device/update", #"{"id":"new"}"#) == "internal")
        #expect(harness.result("subscription/get", #"{"id":"s"}"#)?["delivery"]?["pending"]?.number == 3)
        harness.published.removeAll()
        harness.heal()
        #expect(harness.matches.count == 3)
        harness.matches.forEach { harness.acknowledge($0.token) }
        harness.advance(milliseconds: 1200)
        harness.restart(killed: true)
        #expect(harness.result("subscription/get", #"{"id":"s"}"#)?["delivery"]?["delivered"]?.number == 3)
        #expect(harness.result("device/get", #"{"id":"new"}"#)?["location"]?["latitude"]?.number == 1)
        #expect(harness.result("device/get", #"{"id":"phone"}"#)?["location"] != nil)
    }

    @Test("loses no counters and no match of what else was in the batch")
    func mixedBatch() {
        let harness = HubHarness()
        harness.makePair("", #","matchTTL":0"#)
        harness.move(metres: 1)
        let first = harness.matches
        harness.isDiskFull = true
        harness.published.removeAll()
        harness.batch([
            .init("d/-/-/-/-/phone/position", #"{"lat":43.73,"lon":7.42}"#),
            .init(
                "geomatch/d/alice/request/publication/create",
                #"{"id":"q","deviceId":"pin","topic":"coffee","range":50,"duration":60}"#),
            .init("d/-/-/-/-/phone/position", #"{"lat":43.73,"lon":7.42}"#),
        ])
        // The pair of p matched twice more; those of q never were.
        #expect(harness.matches.isEmpty)
        first.forEach { harness.acknowledge($0.token) }
        harness.heal()
        #expect(harness.matches.compactMap { $0.json?["publication"]?["id"]?.text } == ["p", "p"])
        for match in harness.matches { harness.acknowledge(match.token) }
        harness.advance(milliseconds: 200)
        let delivery = harness.store.delivery("d", "s")
        #expect(delivery?.pending == 0 && harness.store.pendingMatches.isEmpty)
        #expect(delivery?.matched == delivery?.delivered)
        let counters = harness.counters
        #expect(counters.matches.pending == 0 && counters.matches.matched == counters.matches.delivered)
        #expect(
            harness.result("subscription/get", #"{"id":"s"}"#)?["delivery"]?["matched"]?.number
                == Double(counters.matches.matched))
        #expect(harness.refusal("publication/get", #"{"id":"q"}"#) == "notFound id")
    }

    @Test("had the loop read the datasets again: they are read on the log's thread, and what comes in for them waits")
    func loading() {
        let harness = HubHarness()
        harness.makePair()
        harness.isDiskSlow = true
        harness.isDiskFull = true
        let tree = "geomatch/d/alice/request/"
        harness.send(tree + "device/update", #"{"id":"phone","name":"n"}"#)
        harness.writeNext()
        #expect(harness.takeReply()?["error"]?.refusal == "internal")
        #expect(harness.hub.datasets["d"]?.isSuspended == true)
        harness.move(metres: 1)
        harness.send(tree + "device/get", #"{"id":"phone"}"#)
        #expect(harness.takeReply() == nil && harness.matches.isEmpty)
        harness.isDiskFull = false
        harness.isDiskSlow = false
        let device = harness.takeReply()?["result"]
        #expect(device?["location"] != nil && device?["name"]?.text != "n")
        #expect(harness.matches.count == 1)
    }

    @Test("had what came meanwhile compared with what was alive when it had its turn: it is what was alive when it came")
    func asOfItsArrival() {
        let harness = HubHarness()
        harness.makePair()
        harness.isDiskSlow = true
        harness.isDiskFull = true
        let tree = "geomatch/d/alice/request/"
        harness.send(tree + "device/update", #"{"id":"phone","name":"n"}"#)
        harness.writeNext()
        let created = harness.now
        harness.advance(milliseconds: 3_599_000, step: 60_000)
        harness.move(metres: 1)
        let came = harness.now
        harness.advance(milliseconds: 60_000)
        harness.send("d/-/-/-/-/late/position", #"{"lat":1,"lon":1}"#)
        #expect(harness.hub.datasets["d"]?.isSuspended == true && harness.matches.isEmpty)
        harness.isDiskFull = false
        harness.isDiskSlow = false
        #expect(harness.matches.compactMap { $0.json?["createdAt"]?.number } == [Double(came)])
        // Time goes on where it was: what expired meanwhile is gone.
        harness.advance(milliseconds: 200)
        #expect(harness.now > created + 3_600_000 && harness.refusal("publication/get", #"{"id":"p"}"#) == "notFound id")
    }

    @Test("and cannot be read ended the daemon: it is read again later, and the dataset waits until then")
    func unreadable() {
        let harness = HubHarness()
        harness.makePair()
        harness.isDiskFull = true
        harness.log.failingLoads = 2
        #expect(harness.refusal("device/update", #"{"id":"phone","name":"n"}"#) == "internal")
        harness.isDiskFull = false
        harness.move(metres: 1)
        // Others go on.
        #expect(harness.result("dataset/list", client: "admin", dataset: "other") != nil)
        harness.send("e/-/-/-/-/x/position", #"{"lat":1,"lon":0}"#)
        #expect(harness.hub.datasets["e"]?.devices["x"] != nil)
        #expect(harness.hub.datasets["d"]?.isSuspended == true && harness.matches.isEmpty)
        #expect(harness.notices.filter { $0.contains("store cannot be read") }.count == 1)
        harness.advance(milliseconds: 3500)
        #expect(harness.notices.filter { $0.contains("store cannot be read") }.count == 2)
        #expect(harness.hub.datasets["d"]?.isSuspended == false && harness.matches.count == 1)
        #expect(harness.refusal("device/update", #"{"id":"phone","name":"n"}"#) == nil)
        harness.restart(killed: true)
        #expect(harness.result("device/get", #"{"id":"x"}"#, dataset: "e") != nil)
        #expect(harness.result("subscription/get", #"{"id":"s"}"#)?["delivery"]?["matched"]?.number == 1)
    }

    @Test("to create a dataset left requests behind it unanswered")
    func behindCreation() {
        let harness = HubHarness()
        harness.isDiskSlow = true
        harness.isDiskFull = true
        let tree = "geomatch/d/alice/request/"
        harness.send(tree + "device/create", #"{"id":"x","deviceType":"MobileDevice"}"#)
        harness.send(
            tree + "changes/push", #"{"docs":[{"id":"n","type":"note","revision":"1-0123456789abcdef0123456789abcdef"}]}"#)
        harness.send(tree + "device/get", #"{"id":"x"}"#)
        harness.isDiskSlow = false
        let errors = harness.payloads("geomatch/d/alice/reply").compactMap { try? JSONValue.parse($0)["error"]?.refusal }
        #expect(errors == ["internal", "internal", "internal"])
        #expect(harness.hub.datasets.isEmpty && !harness.hub.isSuspended("d"))
    }

    @Test("while the daemon ends loses nothing of what nobody asked for")
    func ending() {
        let harness = HubHarness()
        harness.makePair()
        harness.isDiskSlow = true
        harness.isDiskFull = true
        harness.log.failingLoads = 1
        harness.send("geomatch/d/alice/request/device/update", #"{"id":"phone","name":"n"}"#)
        harness.writeNext()
        harness.send("e/-/-/-/-/x/position", #"{"lat":1,"lon":0}"#)
        harness.isDiskFull = false
        harness.core.finish()
        harness.isDiskSlow = false
        harness.restart(killed: true)
        #expect(harness.result("device/get", #"{"id":"x"}"#, dataset: "e") != nil)
    }
}
