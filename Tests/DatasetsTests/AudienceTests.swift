import SeededRandom
import Testing
import Wire

@testable import Datasets

@Suite("Live subscriptions that are sent the same")
struct AudienceTests {
    private static func harness() -> HubHarness {
        let harness = HubHarness()
        _ = harness.request("dataset/create", client: "admin")
        return harness
    }

    private func subscribe(_ harness: HubHarness, _ clients: [String], _ extra: String = "") {
        for client in clients {
            let reply = harness.result(
                "live/subscribe", #"{"criteria":"d/#","id":"l","within":{"bbox":[7,43,8,44]}\#(extra)}"#, client: client)
            #expect(reply?["id"]?.text == "l")
            harness.settle()
        }
        harness.published.removeAll()
    }

    /// A request; what came before it stays.
    private func ask(_ harness: HubHarness, _ client: String, _ name: String, _ parameters: String) {
        harness.send("geomatch/d/\(client)/request/\(name)", parameters)
        harness.settle()
    }

    private func move(_ harness: HubHarness, _ value: Int, _ device: String = "p", longitude: Double = 7.5) {
        harness.send("d/-/-/-/-/\(device)/position", #"{"latitude":43.5,"longitude":\#(longitude),"v":\#(value)}"#)
    }

    /// What came to a client, as the value, with `left` behind what left.
    private func news(_ harness: HubHarness, _ client: String) -> [String] {
        harness.payloads("geomatch/d/\(client)/live/l").map { payload in
            let message = (try? JSONValue.parse(payload)) ?? .null
            let value = message["properties"]?["v"]?.number.map { "\(Int($0))" } ?? "-"
            return value + (message["left"]?.asBool == true ? " left" : "")
        }
    }

    @Test("They are evaluated and leave once, for however many")
    func once() {
        var counts: [Int] = []
        for clients in [["a"], ["a", "b", "c", "d"]] {
            let harness = Self.harness()
            move(harness, 0)
            subscribe(harness, clients)
            let before = harness.itemsSent
            move(harness, 1)
            move(harness, 2, longitude: 9)
            move(harness, 3)
            counts.append(harness.itemsSent - before)
            for client in clients { #expect(news(harness, client) == ["1", "2 left", "3"]) }
            for client in clients {
                let listed = harness.result("live/list", client: client)?["subscriptions"]?.elements.first
                #expect(listed?["delivered"]?.number == 4)
            }
        }
        #expect(counts[0] == counts[1])
    }

    @Test("One that sees something else is by itself")
    func others() {
        let harness = Self.harness()
        subscribe(harness, ["a", "b"])
        subscribe(harness, ["c"], #","where":"v > 1""#)
        move(harness, 1)
        move(harness, 2)
        #expect(news(harness, "a") == ["1", "2"] && news(harness, "b") == ["1", "2"] && news(harness, "c") == ["2"])
    }

    @Test("When the first of them ends, the others are sent what was held, and what follows", arguments: [true, false])
    func first(endsByLease: Bool) {
        let harness = Self.harness()
        subscribe(harness, ["a"], #","minInterval":1000,"lease":\#(endsByLease ? 2 : 60)"#)
        subscribe(harness, ["b", "c"], #","minInterval":1000"#)
        harness.advance(milliseconds: 1500)
        move(harness, 1)
        move(harness, 2)
        if !endsByLease { ask(harness, "a", "live/unsubscribe", #"{"id":"l"}"#) }
        harness.advance(milliseconds: 1100)
        for client in ["b", "c"] { #expect(news(harness, client) == ["1", "2"]) }
        #expect(news(harness, "a") == ["1"])
        harness.advance(milliseconds: 1100)
        move(harness, 3)
        move(harness, 4, longitude: 9)
        harness.advance(milliseconds: 1100)
        for client in ["b", "c"] { #expect(news(harness, client) == ["1", "2", "3", "4 left"]) }
    }

    @Test("One that comes later is not sent again what the others still wait for")
    func later() {
        let harness = Self.harness()
        subscribe(harness, ["a"], #","minInterval":1000"#)
        move(harness, 1)
        move(harness, 2)
        ask(harness, "b", "live/subscribe", #"{"criteria":"d/#","id":"l","within":{"bbox":[7,43,8,44]},"minInterval":1000}"#)
        harness.advance(milliseconds: 3000)
        #expect(news(harness, "a") == ["1", "2"] && news(harness, "b") == ["2"])
        harness.published.removeAll()
        let before = harness.itemsSent
        move(harness, 3)
        #expect(news(harness, "a") == ["3"] && news(harness, "b") == ["3"])
        // And the `live/…` message.
        #expect(harness.itemsSent - before == 2)
    }

    @Test("One that came later was sent that something left which it was never shown", arguments: [true, false])
    func laterThanWhatLeft(hasArea: Bool) {
        let harness = Self.harness()
        let area = hasArea ? #""within":{"bbox":[7,43,8,44]},"# : ""
        let subscription = #"{"criteria":"d/#","id":"l",\#(area)"minInterval":3000}"#
        ask(harness, "a", "live/subscribe", subscription)
        move(harness, 1)
        if hasArea { move(harness, 2, longitude: 9) } else { harness.send("d/-/-/-/-/p/position", "") }
        ask(harness, "b", "live/subscribe", subscription)
        harness.advance(milliseconds: 8000)
        #expect(news(harness, "a") == ["1", hasArea ? "2 left" : "1 left"] && news(harness, "b") == [])
        move(harness, 3)
        harness.advance(milliseconds: 4000)
        #expect(news(harness, "a").last == "3" && news(harness, "b") == ["3"])
    }

    @Test("One that saw what came back was not sent that it left, as the others had not seen it")
    func laterThanWhatCameBack() {
        let harness = Self.harness()
        subscribe(harness, ["a"], #","minInterval":3000"#)
        move(harness, 1)
        harness.advance(milliseconds: 4000)
        move(harness, 2, longitude: 9)
        move(harness, 3)
        ask(harness, "b", "live/subscribe", #"{"criteria":"d/#","id":"l","within":{"bbox":[7,43,8,44]},"minInterval":3000}"#)
        move(harness, 4, longitude: 9)
        harness.advance(milliseconds: 8000)
        #expect(news(harness, "a") == ["1", "2 left"] && news(harness, "b") == ["3", "4 left"])
    }

    @Test("Where positions become private, each is sent what its client may see")
    func privacy() {
        let harness = Self.harness()
        _ = harness.request("device/create", #"{"id":"p","deviceType":"MobileDevice"}"#, client: "a")
        subscribe(harness, ["a", "b"])
        move(harness, 1)
        ask(harness, "admin", "dataset/update", #"{"livePositions":"none"}"#)
        move(harness, 2)
        #expect(news(harness, "a").last == "2" && news(harness, "b") == ["1", "1 left"])
        ask(harness, "admin", "dataset/update", #"{"livePositions":"all"}"#)
        move(harness, 3)
        #expect(news(harness, "a").last == "3" && news(harness, "b").last == "3")
    }

    @Test(
        "Whenever they come and go, each is sent the newest, once, no more often than it asked for, and that what it saw left",
        arguments: [0, 300], [true, false])
    func random(interval: Int64, hasArea: Bool) {
        let area = hasArea ? #""within":{"bbox":[7,43,8,44]},"# : ""
        var random = SplitMix64.forTest()
        for round in 0..<30 {
            let harness = Self.harness()
            var (alive, born): ([String], Int) = ([], 0)
            // nil: it is not there.
            var newest: [String: Int?] = [:]
            var reported: [String: [(value: Int, isLeft: Bool, at: Int64)]] = [:]
            func note() {
                for message in harness.published where message.topic.hasSuffix("/live/l") {
                    guard let json = message.json, let item = json["itemId"]?.text else { continue }
                    let client = message.topic.split(separator: "/")[2]
                    let stream = "\(client) \(item)"
                    let value = Int(json["properties"]?["v"]?.number ?? -1)
                    let isLeft = json["left"]?.asBool == true
                    let last = reported[stream]?.last
                    if let last {
                        #expect(isLeft ? value >= last.value : value > last.value, "round \(round): \(stream)")
                        #expect(harness.now - last.at >= interval, "round \(round): \(stream)")
                    }
                    if isLeft { #expect(last?.isLeft == false, "round \(round): \(stream)") }
                    reported[stream, default: []].append((value, isLeft, harness.now))
                }
                harness.published.removeAll()
            }
            // No longer than a tick at once, so that it is known when each was sent.
            func pass(_ milliseconds: Int) {
                for begin in stride(from: 0, to: milliseconds, by: 100) {
                    harness.advance(milliseconds: Int64(min(100, milliseconds - begin)))
                    note()
                }
            }
            for step in 1...150 {
                switch random.below(10) {
                case 0, 1:
                    let client = "c\(born)"
                    born += 1
                    alive.append(client)
                    _ = harness.request(
                        "live/subscribe",
                        #"{"criteria":"d/#","id":"l",\#(area)"minInterval":\#(interval)}"#, client: client)
                    harness.settle()
                case 2 where !alive.isEmpty:
                    let client = alive.remove(at: random.below(alive.count))
                    _ = harness.request("live/unsubscribe", #"{"id":"l"}"#, client: client)
                case 3: pass(random.below(400))
                case 4:
                    let device = random.pick(["p", "q", "r"])
                    newest[device] = .some(nil)
                    harness.send("d/-/-/-/-/\(device)/position", "")
                case 5 where hasArea:
                    let device = random.pick(["p", "q", "r"])
                    newest[device] = .some(nil)
                    move(harness, step, device, longitude: 9)
                default:
                    let device = random.pick(["p", "q", "r"])
                    newest[device] = step
                    move(harness, step, device)
                }
                note()
                pass(random.below(60))
            }
            pass(2000)
            for client in alive {
                for (device, value) in newest {
                    let last = reported["\(client) \(device)"]?.last
                    if let value {
                        #expect(last?.value == value && last?.isLeft == false, "round \(round): \(client) \(device)")
                    } else {
                        #expect(last?.isLeft != false, "round \(round): \(client) \(device)")
                    }
                }
            }
        }
    }
}
