import Dispatch
import Synchronization
import Testing
import Wire

@testable import Datasets
@testable import HTTPDoor

@Suite("Matchmore's clients that ask for their matches again and again")
struct MatchPollingTests {
    /// Runs `body` while the core's thread does nothing.
    private func whileHeld(_ house: HTTPHouse, _ body: () throws -> Void) async throws {
        let release = DispatchSemaphore(value: 0)
        await withCheckedContinuation { held in
            house.door.submit { _ in
                held.resume()
                _ = release.wait(timeout: .now() + 20)
            }
        }
        defer { release.signal() }
        try body()
    }

    @Test("A list that nothing can have changed is answered without the core's thread, an empty one, too")
    func withoutTheCore() async throws {
        try await withHTTP { house in
            let client = try OldClient(to: house.port)
            let pair = try client.pair()
            try client.move(pair.device)
            let silent = try client.phone()
            let first = try client.matches(of: pair.device)
            #expect(try client.matches(of: silent).isEmpty && first.count == 1)
            try await whileHeld(house) { () throws in
                #expect(try client.matches(of: pair.device) == first)
                #expect(try client.matches(of: silent).isEmpty)
            }
        }
    }

    @Test("A caller whose update was answered finds its match in the next list, by whatever way the update came")
    func answeredAndListed() async throws {
        try await withHTTP { house in
            let client = try OldClient(to: house.port)
            let pair = try client.pair(matchTTL: 0)
            let connection = try Connection(to: house.port)
            let socket = try Socket(to: house.port, "/api/world/socket?client=http")
            for step in 0..<90 {
                #expect(try client.matches(of: pair.device).count == step)
                let position = #"{"latitude":\#(54.35 + Double(step) * 1e-5),"longitude":18.55}"#
                switch step % 3 {
                case 0: try client.move(pair.device, 54.35 + Double(step) * 1e-5)
                case 1:
                    let path = "/api/world/live/-/-/-/-/\(pair.device)/position"
                    #expect(try connection.ask("POST", path, position).status == 200)
                default:
                    socket.send(#"{"topic":"world/-/-/-/-/\#(pair.device)/position","payload":\#(position)}"#)
                    #expect(try socket.next { $0.text.contains("\"result\"") }.json["result"] != nil)
                }
            }
        }
    }

    @Test("An update's match is made, and the list before it void, when its sender is answered")
    func voidWhenAnswered() async throws {
        try await withHTTP { house in
            let client = try OldClient(to: house.port)
            let pair = try client.pair()
            let key = MatchPages.Key(world: "world", client: "http", device: pair.device)
            #expect(try client.matches(of: pair.device).isEmpty)
            #expect(house.door.knownMatches(key) == Array("[]".utf8))
            let arrival = LiveArrival(
                topic: "world/-/-/-/-/\(pair.device)/position", payload: Array(#"{"latitude":54.35,"longitude":18.55}"#.utf8))
            let known = await withCheckedContinuation { answered in
                house.door.submit { door in
                    door.proceed(
                        LiveBatch(
                            dataset: "world", client: "http", arrivals: [arrival], until: .max,
                            done: { _ in answered.resume(returning: door.knownMatches(key)) }))
                }
            }
            #expect(known == nil)
            #expect(try client.matches(of: pair.device).count == 1)
        }
    }

    @Test("What takes matches away, hides positions or ends the device is seen by the next list")
    func changes() async throws {
        try await withHTTP { house in
            let client = try OldClient(to: house.port)
            let connection = try Connection(to: house.port)
            func ask(_ name: String, _ body: String) throws {
                let answer = try connection.ask("POST", "/api/world/\(name)?client=admin", body)
                #expect(answer.status == 200, "\(answer)")
            }
            let pair = try client.pair()
            try client.move(pair.device)
            func list() throws -> Connection.Answer { try client.ask("GET", "/devices/\(pair.device)/matches?client=admin") }
            for _ in 0..<2 { #expect(try list().list.count == 1) }
            try ask("device/forget", #"{"id":"\#(pair.device)"}"#)
            for _ in 0..<2 { #expect(try list().text == "[]") }
            try client.move(pair.device, 54.36)
            try client.move(pair.device)
            for _ in 0..<2 { #expect(try list().list.count == 1) }
            try ask("device/delete", #"{"id":"\#(pair.device)"}"#)
            #expect(try list().status == 404)
            try ask("device/create", #"{"deviceType":"MobileDevice","id":"\#(pair.device)"}"#)
            for _ in 0..<2 { #expect(try list().text == "[]") }
            try ask("dataset/delete", "{}")
            #expect(try list().status == 404)
        }
    }

    @Test("Where positions become private, a list shows the other side's location no longer")
    func hidden() async throws {
        try await withHTTP { house in
            let client = try OldClient(to: house.port)
            let connection = try Connection(to: house.port)
            let pair = try client.pair()
            let phone = try client.ask(
                "POST", "/devices?client=ann",
                #"{"deviceType":"MobileDevice","name":"n","platform":"iOS","deviceToken":"t","location":null}"#)
            let ann = try #require(phone.json["id"]?.asString, "\(pair) \(phone)")
            _ = try client.ask(
                "POST", "/devices/\(ann)/subscriptions?client=ann",
                #"{"deviceId":"\#(ann)","topic":"sampletopic","range":300,"duration":500,"selector":""}"#)
            _ = try client.ask(
                "POST", "/devices/\(ann)/locations?client=ann", #"{"latitude":54.35,"longitude":18.55,"altitude":0}"#)
            func isShown() throws -> Bool {
                let list = try client.ask("GET", "/devices/\(ann)/matches?client=ann").list
                #expect(list.count == 1)
                return list.first?.asObject?["publication"]?.asObject?["location"]?.asObject != nil
            }
            for positions in ["all", "none", "all"] {
                let update = try connection.ask(
                    "POST", "/api/world/dataset/update?client=admin", #"{"livePositions":"\#(positions)"}"#)
                #expect(update.status == 200, "\(update)")
                for _ in 0..<2 { #expect(try isShown() == (positions == "all"), "\(positions)") }
            }
        }
    }

    @Test("A client that may name the dataset no longer gets no list, though nothing else has changed")
    func lostAccess() async throws {
        let lost = Atomic(false)
        try await withHTTP(
            hub: {
                $0.mayName = { _, client in client != "ann" || !lost.load(ordering: .acquiring) }
                $0.accessVersion = { lost.load(ordering: .acquiring) ? 1 : 0 }
            },
            { house in
                let client = try OldClient(to: house.port)
                let phone = try client.ask(
                    "POST", "/devices?client=ann",
                    #"{"deviceType":"MobileDevice","name":"n","platform":"iOS","deviceToken":"t","location":null}"#)
                let id = try #require(phone.json["id"]?.asString)
                func status() throws -> Int { try client.ask("GET", "/devices/\(id)/matches?client=ann").status }
                for _ in 0..<2 { #expect(try status() == 200) }
                lost.store(true, ordering: .releasing)
                #expect(try status() == 401)
            })
    }

    @Test("A door that is closed, or whose datasets may be another node's, answers no list from memory")
    func closed() async throws {
        let isOurs = Atomic(true)
        try await withHTTP({ $0.mayNotify = { isOurs.load(ordering: .acquiring) } }) { house in
            let client = try OldClient(to: house.port)
            let device = try client.phone()
            let key = MatchPages.Key(world: "world", client: "http", device: device)
            for _ in 0..<2 { #expect(try client.matches(of: device).isEmpty) }
            #expect(house.door.knownMatches(key) == Array("[]".utf8))
            isOurs.store(false, ordering: .releasing)
            #expect(house.door.knownMatches(key) == nil)
            isOurs.store(true, ordering: .releasing)
            house.door.close()
            #expect(house.door.knownMatches(key) == nil)
        }
    }

    @Test("Lists that are kept have a bound, and the newest ones stay; none outlasts its validity")
    func pages() {
        let pages = MatchPages(bytesMax: 100_000)
        let validity = Validity()
        let basis = MatchPages.Basis(validity: validity, accessVersion: 7)
        func key(_ device: Int) -> MatchPages.Key { MatchPages.Key(world: "w", client: "c", device: "\(device)") }
        for device in 0..<1000 { pages.keep([UInt8](repeating: 0, count: 1000), for: key(device), on: basis) }
        #expect(pages.bytes <= 100_000 && pages.page(key(999), accessVersion: 7) != nil)
        #expect(pages.page(key(0), accessVersion: 7) == nil && pages.page(key(999), accessVersion: 8) == nil)
        pages.keep([1], for: key(999), on: basis)
        #expect(pages.page(key(999), accessVersion: 7) == [1])
        pages.keep([UInt8](repeating: 0, count: 50_000), for: key(1), on: basis)
        #expect(pages.page(key(1), accessVersion: 7) == nil)
        validity.end()
        #expect(pages.page(key(999), accessVersion: 7) == nil)
    }
}
