import SeededRandom
import Testing
import Wire

@testable import Datasets

@Suite("How long a list of matches holds")
struct MatchValidityTests {
    private struct Asked: Hashable {
        var client: String
        var device: String
    }

    /// `p0` is ann's, `p1` bob's and `p2` nobody's; each has a publication and a subscription of its owner, or of ann.
    private static let devices = [("p0", "ann"), ("p1", "bob"), ("p2", "admin")]

    private func create(_ harness: HubHarness, _ device: String, by client: String) {
        let extra = client == "admin" ? "" : #","deviceType":"MobileDevice""#
        guard !extra.isEmpty else { return harness.move(device, metres: 0) }
        _ = harness.request("device/create", #"{"id":"\#(device)"\#(extra)}"#, client: client)
        _ = harness.request(
            "publication/create", #"{"deviceId":"\#(device)","topic":"t","range":100,"duration":36000}"#, client: client)
        _ = harness.request(
            "subscription/create", #"{"deviceId":"\#(device)","topic":"t","range":100,"duration":36000,"matchTTL":0}"#,
            client: client)
    }

    private func list(_ harness: HubHarness, _ asked: Asked) -> JSONValue? {
        harness.request("match/list", #"{"deviceId":"\#(asked.device)"}"#, client: asked.client)
    }

    @Test("While it holds the list is the same, over matches, changes, refusals, kills and a full disk", arguments: 0..<4)
    func faults(_ run: UInt64) throws {
        var random = SplitMix64(seed: SplitMix64.seed() &+ run)
        let harness = HubHarness()
        harness.acknowledges = true
        var kept: [Asked: (list: JSONValue, validity: Validity)] = [:]
        var (isFull, heldCount) = (false, 0)
        for step in 0..<600 {
            harness.now += Int64(random.below(3000))
            let (device, owner) = random.pick(Self.devices)
            switch random.below(100) {
            case 0..<8: create(harness, device, by: owner)
            case 8..<10: _ = harness.request("device/delete", #"{"id":"\#(device)"}"#, client: "admin")
            case 10..<13: _ = harness.request("device/forget", #"{"id":"\#(device)"}"#, client: owner)
            case 13..<16:
                let positions = random.pick(["all", "none"])
                _ = harness.request("dataset/update", #"{"livePositions":"\#(positions)"}"#, client: "admin")
            case 16: _ = harness.request("dataset/delete", client: "admin")
            case 17..<21:
                if isFull { harness.heal() } else { harness.isDiskFull = true }
                isFull.toggle()
            case 21..<23 where !isFull:
                harness.restart(killed: random.chance(50))
                // Who kept them ended, too.
                kept = [:]
            case 23..<30: harness.advance(milliseconds: 300)
            default: harness.move(device, metres: Double(random.below(150)))
            }
            for (asked, known) in kept where known.validity.holds {
                guard let now = list(harness, asked) else { continue }
                // Asking changes nothing that the list rests on.
                guard known.validity.holds, now["result"] != known.list else {
                    heldCount += 1
                    continue
                }
                Issue.record("step \(step): \(asked) has \(now), and \(known.list) still holds")
                return
            }
            let asked = Asked(client: random.pick(["ann", "bob", "admin"]), device: device)
            let summary = try? harness.hub.summary(ofDevice: device, of: "d", for: asked.client, at: harness.now)
            if let validity = summary?.matchesValidity, let list = list(harness, asked)?["result"] {
                kept[asked] = (list, validity)
            }
        }
        #expect(heldCount > 500, "hardly any list held")
    }

    @Test("A list that was read while the store had not got the newest match held for good")
    func notDurable() throws {
        let harness = HubHarness()
        harness.makePair()
        harness.isDiskFull = true
        // Notices that it is full.
        _ = harness.request("device/update", #"{"id":"phone","name":"n"}"#)
        harness.move(metres: 0)
        #expect(list(harness, Asked(client: "alice", device: "phone"))?["result"]?["matches"]?.elements.isEmpty == true)
        func validity() throws -> Validity? {
            try harness.hub.summary(ofDevice: "phone", of: "d", for: "alice", at: harness.now)?.matchesValidity
        }
        #expect(try validity() == nil)
        harness.heal()
        #expect(list(harness, Asked(client: "alice", device: "phone"))?["result"]?["matches"]?.elements.count == 1)
        #expect(try validity()?.holds == true)
    }
}
