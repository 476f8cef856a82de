import Testing
import Wire

@testable import Datasets
@testable import Records

@Suite("Visits")
struct VisitTests {
    private func visiting(_ options: String = "", acknowledges: Bool = true) -> HubHarness {
        let harness = HubHarness()
        harness.acknowledges = acknowledges
        harness.makePair("", #","mode":"visit"\#(options)"#)
        harness.move(metres: 1)
        return harness
    }

    /// The events since the last request, an end with its reason.
    private func events(_ harness: HubHarness) -> [String] {
        let events = harness.matches.map { match in
            [match.json?["event"]?.text, match.json?["reason"]?.text].compactMap(\.self).joined(separator: " ")
        }
        harness.published.removeAll { $0.topic.contains("/match/") }
        return events
    }

    private func visitCount(_ harness: HubHarness) -> Int {
        guard let dataset = harness.hub.datasets["d"] else { return 0 }
        let (geomatching, devices) = (dataset.geomatching, Array(dataset.devices.all))
        let count = devices.flatMap(geomatching.subscriptions(of:)).map(\.visits.count).reduce(0, +)
        #expect(count == devices.flatMap(geomatching.publications(of:)).map(\.visitors.count).reduce(0, +))
        return count
    }

    @Test("A likely visit follows the fixes' times: a batch makes the visits it made, and an exit outlasts a restart")
    func likely() {
        let harness = visiting(#","accuracy":"likely","dwell":300"#)
        func fix(_ metres: Double, secondsAgo: Int64) -> [String] {
            harness.move(metres: metres, extra: #","acc":20,"timestamp":\#(harness.now - secondsAgo * 1000)"#)
            return events(harness)
        }
        #expect(events(harness) == [])
        harness.advance(milliseconds: 200_000)
        #expect(fix(1, secondsAgo: 199) == [])
        #expect(fix(400, secondsAgo: 150) == [])
        harness.advance(milliseconds: 200_000)
        #expect(fix(1, secondsAgo: 90) == ["matched"])
        #expect(fix(400, secondsAgo: 80) == [])
        #expect(fix(1, secondsAgo: 70) == [])
        #expect(fix(400, secondsAgo: 65) == [])
        harness.restart()
        #expect(fix(400, secondsAgo: 1) == ["ended left"])
    }

    @Test("The fixes outside before a restart count with those after it for a likely visit")
    func likelyOutside() {
        let harness = visiting(#","accuracy":"likely""#)
        #expect(events(harness) == ["matched"])
        harness.advance(milliseconds: 200_000)
        func fix(_ metres: Double, secondsAgo: Int64) -> [String] {
            harness.move(metres: metres, extra: #","acc":20,"timestamp":\#(harness.now - secondsAgo * 1000)"#)
            return events(harness)
        }
        #expect(fix(400, secondsAgo: 120) == [])
        #expect(fix(1, secondsAgo: 110) == [])
        #expect(fix(400, secondsAgo: 100) == [])
        #expect(fix(400, secondsAgo: 70) == [])
        harness.restart()
        #expect(fix(400, secondsAgo: 41) == [])
        harness.restart()
        #expect(fix(400, secondsAgo: 39) == ["ended left"])
    }

    @Test("A likely visit follows the fixes of who sends late, also where the other side was heard of since")
    func likelyOfTwoMovers() {
        let harness = HubHarness()
        for id in ["van", "phone"] { _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"\#(id)"}"#) }
        _ = harness.request("publication/create", #"{"deviceId":"van","topic":"t","range":50,"duration":90000}"#)
        _ = harness.request(
            "subscription/create",
            #"{"deviceId":"phone","topic":"t","range":50,"duration":90000,"mode":"visit","accuracy":"likely","dwell":60}"#)
        harness.move("van", metres: 0)
        harness.advance(milliseconds: 1000)
        func fix(_ metres: Double, secondsAgo: Int64) -> [String] {
            harness.move(metres: metres, extra: #","acc":20,"timestamp":\#(harness.now - secondsAgo * 1000)"#)
            return events(harness)
        }
        // The van goes on meanwhile: neither one early fix of the phone nor one outlier is carried to the van's time.
        func drive() -> [String] {
            harness.advance(milliseconds: 1000)
            harness.move("van", metres: 0)
            return events(harness)
        }
        #expect(fix(1, secondsAgo: 3600) == [] && drive() == [])
        #expect(fix(2, secondsAgo: 3500) == ["matched"] && drive() == [])
        #expect(fix(400, secondsAgo: 3400) == [] && drive() == [])
        #expect(fix(3, secondsAgo: 3390) == [] && drive() == [])
        #expect(fix(400, secondsAgo: 3000) == [] && drive() == [])
        #expect(fix(401, secondsAgo: 2930) == ["ended left"])
    }

    @Test("Begin and end have ids of their own and carry the begin's as `visit`; an end says why, and where both sides were")
    func shape() {
        let harness = visiting()
        let begin = harness.matches.first?.json
        #expect(begin?.keys == ["id", "event", "visit", "createdAt", "distance", "publication", "subscription"])
        #expect(begin?["visit"] == begin?["id"] && begin?["event"] == "matched")
        #expect(begin?["subscription"]?["mode"] == "visit")
        harness.published.removeAll()
        harness.move(metres: 109)
        #expect(harness.matches.isEmpty)
        harness.move(metres: 112)
        let end = harness.matches.first?.json
        #expect(harness.matches.count == 1 && harness.matches[0].topic == "geomatch/d/alice/match/phone/s")
        #expect(end?.keys == ["id", "event", "visit", "reason", "createdAt", "distance", "publication", "subscription"])
        #expect(
            end?["visit"] == begin?["id"] && end?["id"] != begin?["id"] && end?["event"] == "ended" && end?["reason"] == "left")
        #expect(abs((end?["distance"]?.number ?? 0) - 112) < 0.5)
        #expect(end?["subscription"]?["location"]?["latitude"] != nil)
        #expect(
            harness.result("match/list", #"{"deviceId":"phone"}"#)?["matches"]?.elements.map { $0["event"] } == [
                "matched", "ended",
            ])
        #expect(harness.result("match/get", #"{"id":"\#(end?["id"]?.text ?? "")"}"#)?["reason"] == "left")
        let delivery = harness.hub.datasets["d"]?.geomatching.subscriptions["s"]?.record.delivery
        #expect(delivery?.matched == 2 && delivery?.delivered == 2)
        #expect(visitCount(harness) == 0 && harness.store.visits.isEmpty)
        harness.published.removeAll()
        harness.move(metres: 1)
        #expect(harness.matches.first?.json?["visit"] != begin?["id"])
    }

    struct Ending: CustomTestStringConvertible {
        var testDescription: String
        var act: @Sendable (HubHarness) -> Void
        var reason: String? = nil
    }

    @Test(
        "end once for what ends them, before it is gone",
        arguments: [
            Ending(
                testDescription: "the subscription is deleted", act: { _ = $0.request("subscription/delete", #"{"id":"s"}"#) },
                reason: "deleted"),
            Ending(
                testDescription: "the publication is deleted", act: { _ = $0.request("publication/delete", #"{"id":"p"}"#) },
                reason: "deleted"),
            Ending(
                testDescription: "the subscriber is deleted", act: { _ = $0.request("device/delete", #"{"id":"phone"}"#) },
                reason: "deleted"),
            Ending(
                testDescription: "the publisher is deleted", act: { _ = $0.request("device/delete", #"{"id":"pin"}"#) },
                reason: "deleted"),
            Ending(
                testDescription: "the subscriber is forgotten", act: { _ = $0.request("device/forget", #"{"id":"phone"}"#) },
                reason: "lost"),
            Ending(
                testDescription: "the publisher is forgotten", act: { _ = $0.request("device/forget", #"{"id":"pin"}"#) },
                reason: "lost"),
            Ending(
                testDescription: "the time of both is over", act: { $0.advance(milliseconds: 3_600_000, step: 60_000) },
                reason: "expired"),
            Ending(
                testDescription: "the publication's range shrinks",
                act: {
                    _ = $0.request("publication/update", #"{"id":"p","range":1}"#); $0.move(metres: 70)
                }, reason: "left"),
            Ending(
                testDescription: "another topic", act: { _ = $0.request("subscription/update", #"{"id":"s","topic":"tea"}"#) },
                reason: "left"),
            Ending(
                testDescription: "another selector",
                act: { _ = $0.request("subscription/update", #"{"id":"s","selector":"a = 1"}"#) }, reason: "left"),
            Ending(
                testDescription: "mode once", act: { _ = $0.request("subscription/update", #"{"id":"s","mode":"once"}"#) },
                reason: "left"),
            Ending(testDescription: "the position is cleared", act: { $0.send("d/-/-/-/-/phone/position", "") }, reason: "lost"),
            Ending(
                testDescription: "the position is removed",
                act: { _ = $0.request("device/update", #"{"id":"phone","location":null}"#) }, reason: "lost"),
            Ending(
                testDescription: "an update that changes nothing",
                act: { _ = $0.request("subscription/update", #"{"id":"s","range":51}"#) }, reason: nil),
            Ending(
                testDescription: "the dataset is deleted", act: { _ = $0.request("dataset/delete", client: "admin") }, reason: nil
            ),
        ], [false, true])
    func endings(_ row: Ending, restarts: Bool) {
        let harness = visiting("", acknowledges: false)
        let begin = harness.matches[0]
        harness.acknowledge(begin.token)
        harness.advance(milliseconds: 1000)
        if restarts { harness.restart(killed: true) }
        harness.published.removeAll()
        harness.changes.removeAll()
        row.act(harness)
        let ends = harness.matches.filter { $0.json?["event"] == "ended" }
        #expect(ends.compactMap { $0.json?["reason"]?.text } == [row.reason].compactMap(\.self))
        #expect(ends.allSatisfy { $0.json?["visit"] == begin.json?["id"] })
        // Also where a position went.
        for side in ["publication", "subscription"] { #expect(ends.allSatisfy { $0.json?[side]?["location"] != nil }) }
        #expect(ends.allSatisfy { $0.json?["distance"] != nil })
        guard row.reason != nil else { return }
        // The end stands in the changes before what ended it goes.
        let reported = harness.changes.firstIndex {
            if case .put(let record as MatchRecord) = $0 {
                String(decoding: record.body, as: UTF8.self).contains("ended")
            } else {
                false
            }
        }
        let gone = harness.changes.firstIndex {
            switch $0 {
            case .forget: true
            case .delete(let key): [.device, .publication, .subscription].contains(key.kind)
            default: false
            }
        }
        #expect(reported != nil && gone.map { $0 > reported ?? .max } != false)
        // It is owed, whatever became of its subscription.
        harness.restart(killed: true)
        #expect(harness.matches.map(\.payload).filter { $0.contains("ended") } == ends.map(\.payload))
        harness.matches.forEach { harness.acknowledge($0.token) }
        #expect(
            harness.counters.matches.pending == 0 && harness.store.pendingMatches.isEmpty
                && harness.store.visits.count == visitCount(harness))
    }

    @Test("that ended while the store refused are over for whatever is asked meanwhile: the next approach begins one")
    func endedWhileRefused() {
        let harness = visiting()
        #expect(events(harness) == ["matched"])
        harness.isDiskFull = true
        harness.batch([
            .init("d/-/-/-/-/phone/position", #"{"lat":43.74,"lon":7.42}"#),
            .init("geomatch/d/alice/request/device/update", #"{"id":"phone","name":"n"}"#),
        ])
        #expect(harness.takeReply()?["error"]?.refusal == "internal")
        harness.heal()
        #expect(events(harness) == ["ended left"])
        harness.move(metres: 1)
        #expect(events(harness) == ["matched"] && visitCount(harness) == 1)
        harness.move(metres: 200)
        #expect(events(harness) == ["ended left"] && visitCount(harness) == 0)
    }

    @Test("go on over a restart without a word, and end afterwards with the id they began with", arguments: [false, true])
    func restart(killed: Bool) {
        let harness = visiting()
        let begin = harness.matches.first?.json?["id"]
        for _ in 0..<3 {
            harness.advance(milliseconds: 1000)
            harness.restart(killed: killed)
            harness.advance(milliseconds: 1000)
            harness.move(metres: 50)
            #expect(harness.matches.isEmpty && visitCount(harness) == 1)
        }
        harness.move(metres: 200)
        #expect(harness.matches.first?.json?["visit"] == begin && events(harness) == ["ended left"])
        harness.advance(milliseconds: 1000)
        harness.restart(killed: killed)
        harness.advance(milliseconds: 1000)
        #expect(harness.matches.isEmpty && visitCount(harness) == 0)
    }

    @Test("begin when a pair has stayed in range for `dwell` seconds, also over a restart from then on")
    func dwell() {
        let harness = visiting(#","dwell":10"#)
        #expect(harness.matches.isEmpty)
        harness.advance(milliseconds: 9_900)
        #expect(harness.matches.isEmpty)
        harness.advance(milliseconds: 200)
        #expect(events(harness) == ["matched"])
        harness.move(metres: 300)
        harness.move(metres: 1)
        harness.advance(milliseconds: 5_000)
        harness.move(metres: 300)
        harness.move(metres: 1)
        harness.advance(milliseconds: 9_000)
        #expect(events(harness) == ["ended left"])
        harness.restart(killed: true)
        harness.advance(milliseconds: 900)
        #expect(events(harness) == [])
        harness.advance(milliseconds: 200)
        #expect(events(harness) == ["matched"])
    }

    @Test(
        "A dwell goes on over restarts, also shorter ones than it lasts, and is over where nobody moved meanwhile",
        arguments: [false, true])
    func dwellOverRestarts(killed: Bool) {
        let harness = visiting(#","dwell":10"#)
        for _ in 0..<3 {
            harness.advance(milliseconds: 3_000)
            harness.restart(killed: killed)
            #expect(events(harness) == [] && harness.store.visits.map(\.isStay) == [true])
        }
        let explanation = harness.result("match/explain", #"{"publicationId":"p","subscriptionId":"s"}"#)
        #expect(
            explanation?["checks"]?.elements.last?["detail"]?.text
                == "in range for 9 s of 10 s (dwell): a visit begins in 1 s")
        harness.advance(milliseconds: 900)
        #expect(events(harness) == [])
        harness.advance(milliseconds: 200)
        let begin = harness.matches.first?.json?["id"]?.text
        #expect(events(harness) == ["matched"] && harness.store.visits.map(\.id) == [begin])
        harness.move(metres: 300)
        #expect(events(harness) == ["ended left"] && harness.store.visits.isEmpty)
        harness.move(metres: 1)
        harness.advance(milliseconds: 3_000)
        harness.restart(killed: killed) { harness.now += 60_000 }
        harness.advance(milliseconds: 100)
        #expect(events(harness) == ["matched"])
    }

    @Test("A stay is restored as an update has it by now: where its dwell is over, its visit begins at once")
    func dwellUpdated() {
        let harness = visiting(#","dwell":3600"#)
        harness.advance(milliseconds: 6_000)
        harness.restart()
        _ = harness.request("subscription/update", #"{"id":"s","dwell":20}"#)
        #expect(events(harness) == [])
        harness.restart()
        _ = harness.request("subscription/update", #"{"id":"s","dwell":5}"#)
        #expect(events(harness) == ["matched"] && harness.store.visits.map(\.isStay) == [false])
    }

    @Test("A likely stay counts from its fixes' own time, over a restart, too")
    func likelyDwellOverRestart() {
        let harness = visiting(#","accuracy":"likely","dwell":300"#)
        harness.advance(milliseconds: 500_000)
        harness.move(metres: 400, extra: #","acc":20"#)
        func fix(_ metres: Double, secondsAgo: Int64) -> [String] {
            harness.move(metres: metres, extra: #","acc":20,"timestamp":\#(harness.now - secondsAgo * 1000)"#)
            return events(harness)
        }
        harness.advance(milliseconds: 500_000)
        _ = fix(400, secondsAgo: 400)
        harness.advance(milliseconds: 1000)
        #expect(fix(1, secondsAgo: 390) == [])
        let since = harness.now - 390_000
        #expect(harness.store.visits.map(\.since) == [since])
        harness.restart(killed: true)
        harness.advance(milliseconds: 1000)
        #expect(fix(2, secondsAgo: 100) == [])
        #expect(fix(1, secondsAgo: 80) == ["matched"])
    }

    @Test(
        "A stay goes without a word with what it waits for, and leaves nothing behind",
        arguments: [
            Ending(testDescription: "the pair leaves, within the margin", act: { $0.move(metres: 105) }),
            Ending(
                testDescription: "the subscription is deleted", act: { _ = $0.request("subscription/delete", #"{"id":"s"}"#) }),
            Ending(testDescription: "the publication is deleted", act: { _ = $0.request("publication/delete", #"{"id":"p"}"#) }),
            Ending(testDescription: "the subscriber is deleted", act: { _ = $0.request("device/delete", #"{"id":"phone"}"#) }),
            Ending(testDescription: "the publisher is deleted", act: { _ = $0.request("device/delete", #"{"id":"pin"}"#) }),
            Ending(testDescription: "the subscriber is forgotten", act: { _ = $0.request("device/forget", #"{"id":"phone"}"#) }),
            Ending(testDescription: "the publisher is forgotten", act: { _ = $0.request("device/forget", #"{"id":"pin"}"#) }),
            Ending(
                testDescription: "the time of both is over", act: { $0.advance(milliseconds: 3_600_000, step: 60_000) }),
            Ending(
                testDescription: "another topic", act: { _ = $0.request("subscription/update", #"{"id":"s","topic":"tea"}"#) }),
            Ending(
                testDescription: "another selector",
                act: { _ = $0.request("subscription/update", #"{"id":"s","selector":"a = 1"}"#) }),
            Ending(testDescription: "the position is cleared", act: { $0.send("d/-/-/-/-/phone/position", "") }),
            Ending(testDescription: "the dataset is deleted", act: { _ = $0.request("dataset/delete", client: "admin") }),
        ], [false, true])
    func stayGoes(_ row: Ending, restarts: Bool) {
        let harness = visiting(#","dwell":7200"#)
        harness.advance(milliseconds: 1000)
        if restarts { harness.restart(killed: true) }
        #expect(harness.store.visits.map(\.isStay) == [true] && visitCount(harness) == 1)
        row.act(harness)
        #expect(harness.matches.isEmpty && harness.store.visits.isEmpty && visitCount(harness) == 0)
        // Positions are written behind.
        harness.advance(milliseconds: 2000)
        harness.restart(killed: true)
        harness.advance(milliseconds: 7_200_000, step: 60_000)
        #expect(harness.matches.isEmpty && harness.store.visits.isEmpty && visitCount(harness) == 0)
    }

    @Test("A stay ends where a side is silent for `staleAfter`; another mode begins afresh; what a refused request took stays")
    func stayOtherwise() {
        let silent = visiting(#","dwell":3000,"staleAfter":60"#)
        silent.advance(milliseconds: 61_000)
        #expect(silent.matches.isEmpty && silent.store.visits.isEmpty)
        silent.move(metres: 1)
        #expect(silent.store.visits.map(\.since) == [silent.now])
        let once = visiting(#","dwell":3000"#)
        _ = once.request("subscription/update", #"{"id":"s","mode":"once"}"#)
        #expect(events(once) == ["matched"] && once.store.visits.isEmpty)
        let refused = visiting(#","dwell":10"#)
        refused.advance(milliseconds: 5_000)
        refused.isDiskFull = true
        #expect(refused.refusal("subscription/update", #"{"id":"s","topic":"tea"}"#) == "internal")
        refused.heal()
        #expect(refused.store.visits.map(\.isStay) == [true])
        refused.advance(milliseconds: 5_100)
        #expect(events(refused) == ["matched"])
    }

    @Test("end as lost when a side was not heard of, and begin again when it is; a pin need not be heard")
    func stale() {
        let harness = visiting(#","staleAfter":60"#)
        harness.published.removeAll()
        harness.advance(milliseconds: 59_000)
        harness.move(metres: 1)
        harness.advance(milliseconds: 59_000)
        #expect(events(harness) == [])
        harness.advance(milliseconds: 2_000)
        #expect(events(harness) == ["ended lost"])
        harness.published.removeAll()
        harness.move(metres: 1)
        #expect(events(harness) == ["matched"])
    }

    @Test("`staleAfter` began anew with each restart", arguments: [true, false])
    func staleOverRestarts(killed: Bool) {
        let harness = visiting(#","staleAfter":60"#)
        // Positions are written behind.
        harness.advance(milliseconds: 2_000)
        for _ in 0..<2 {
            harness.advance(milliseconds: 25_000)
            harness.restart(killed: killed)
        }
        harness.published.removeAll()
        harness.advance(milliseconds: 7_000)
        #expect(events(harness) == [])
        harness.advance(milliseconds: 2_000)
        #expect(events(harness) == ["ended lost"])
        let outage = visiting(#","staleAfter":60"#)
        outage.advance(milliseconds: 2_000)
        outage.now += 100_000
        outage.restart(killed: true)
        outage.advance(milliseconds: 1_000)
        #expect(events(outage) == ["ended lost"])
    }

    @Test("What is compared once begins and ends at once, and leaves nothing behind")
    func comparedOnce() {
        let harness = visiting()
        _ = events(harness)
        harness.send(
            "geomatch/d/alice/request/publication/create", #"{"deviceId":"pin","topic":"coffee","range":50,"duration":0}"#)
        #expect(events(harness) == ["matched", "ended expired"])
        harness.send(
            "geomatch/d/alice/request/subscription/create",
            #"{"deviceId":"phone","topic":"coffee","range":50,"duration":0,"mode":"visit"}"#)
        #expect(events(harness) == ["matched", "ended expired"])
        #expect(visitCount(harness) == 1 && harness.store.visits.count == 1)
        #expect(
            harness.hub.datasets["d"]?.geomatching.publications.count == 1
                && harness.hub.datasets["d"]?.geomatching.subscriptions.count == 1)
    }

    @Test(
        "A refused request ends no visit and begins none",
        arguments: [
            ("subscription/delete", #"{"id":"s"}"#), ("publication/delete", #"{"id":"p"}"#),
            ("device/delete", #"{"id":"phone"}"#),
            ("device/delete", #"{"id":"pin"}"#), ("device/forget", #"{"id":"phone"}"#),
            ("subscription/update", #"{"id":"s","topic":"tea"}"#), ("subscription/update", #"{"id":"s","mode":"once"}"#),
            ("device/update", #"{"id":"pin","location":{"lat":5,"lon":5}}"#),
            ("publication/create", #"{"deviceId":"pin","topic":"coffee","range":50,"duration":60}"#),
        ])
    func refused(_ request: (name: String, payload: String)) {
        let harness = visiting()
        let begin = harness.matches.first?.json?["id"]
        let delivery = harness.hub.datasets["d"]?.geomatching.subscriptions["s"]?.record.delivery
        harness.isDiskFull = true
        #expect(harness.refusal(request.name, request.payload) == "internal")
        #expect(harness.matches.isEmpty && visitCount(harness) == 1)
        #expect(harness.hub.datasets["d"]?.geomatching.subscriptions["s"]?.record.delivery == delivery)
        #expect(harness.counters.matches.matched == 1 && harness.counters.matches.pending == 0)
        harness.heal()
        harness.advance(milliseconds: 1000)
        #expect(harness.matches.isEmpty)
        harness.move(metres: 300)
        #expect(harness.matches.first?.json?["visit"] == begin && events(harness) == ["ended left"])
        harness.restart()
        #expect(visitCount(harness) == 0 && harness.store.visits.isEmpty)
    }

    @Test("What follows a refused begin or end in the same batch never was either")
    func refusedBatch() {
        let tree = "geomatch/d/alice/request/"
        for metres in [1.0, 300] {
            let harness = visiting()
            let begin = harness.matches.first?.json?["id"]
            harness.published.removeAll()
            harness.isDiskFull = true
            harness.batch([
                .init(tree + "subscription/update", #"{"id":"s","topic":"tea"}"#),
                .init(tree + "subscription/update", #"{"id":"s","topic":"coffee"}"#),
                .init("d/-/-/-/-/phone/position", #"{"lat":\#(43.73 + metres / 111_100),"lon":7.42}"#),
            ])
            harness.heal()
            harness.advance(milliseconds: 1000)
            harness.move(metres: 400)
            #expect(harness.matches.first?.json?["visit"] == begin && events(harness) == ["ended left"])
            #expect(harness.store.visits.isEmpty && visitCount(harness) == 0)
        }
    }

    @Test(
        "Floors are the same where building and floor are known and equal",
        arguments: [
            ("v/hq/2", "", "v/hq/2", "", true), ("v/hq/2", "", "v/hq/3", "", false), ("v/hq/2", "", "v/annex/2", "", false),
            ("-/hq/2", "", "-/hq/2", "", true), ("v/hq/-", #","floorIndex":2"#, "v/hq/-", #","floorIndex":2"#, true),
            ("v/hq/-", #","floorIndex":2"#, "v/hq/-", #","floorIndex":-2"#, false), ("v/hq/-", "", "v/hq/-", "", false),
            ("v/-/2", "", "v/-/2", "", false), ("-/-/-", #","floorIndex":2"#, "-/-/-", #","floorIndex":2"#, false),
            ("v/hq/2", #","floorIndex":7"#, "v/hq/2", #","floorIndex":8"#, true),
        ] as [(String, String, String, String, Bool)])
    func floors(_ row: (here: String, hereIndex: String, there: String, thereIndex: String, isSame: Bool)) {
        for mode in ["once", "visit"] {
            let harness = HubHarness()
            _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"a"}"#)
            _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"b"}"#)
            _ = harness.request("publication/create", #"{"deviceId":"a","topic":"t","range":50,"duration":3600}"#)
            for floor in ["same", "any"] {
                _ = harness.request(
                    "subscription/create",
                    #"{"id":"\#(floor)","deviceId":"b","topic":"t","range":50,"duration":3600,"mode":"\#(mode)","floor":"\#(floor)"}"#
                )
            }
            harness.published.removeAll()
            harness.send("d/\(row.here)/-/a/position", #"{"lat":1,"lon":1\#(row.hereIndex)}"#)
            harness.send("d/\(row.there)/-/b/position", #"{"lat":1,"lon":1\#(row.thereIndex)}"#)
            #expect(harness.matches.filter { $0.topic.hasSuffix("/same") }.count == (row.isSame ? 1 : 0))
            #expect(harness.matches.filter { $0.topic.hasSuffix("/any") }.count == 1)
            // Known again after a restart: the visit goes on.
            harness.matches.forEach { harness.acknowledge($0.token) }
            harness.advance(milliseconds: 2000)
            harness.restart(killed: true)
            harness.send("d/\(row.there)/-/b/position", #"{"lat":1,"lon":1.00001\#(row.thereIndex)}"#)
            #expect(harness.matches.isEmpty)
        }
    }
}
