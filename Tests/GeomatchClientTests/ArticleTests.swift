import Foundation
import Synchronization
import Testing
import struct Wire.JSONObject

@testable import GeomatchClient

@Suite("Articles", .timeLimit(.minutes(5)))
struct ArticleTests {
    static let names = ["GettingStarted", "LiveData", "Matches", "ErrorsAndReconnecting", "OfflineStore", "Testing"]

    @Test("The code of each article is the file that is compiled and run here", arguments: names)
    func sameCode(name: String) throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let code = try String(contentsOf: folder.appendingPathComponent("Articles/\(name).swift"), encoding: .utf8)
        let articles = folder.appendingPathComponent("../../Sources/GeomatchClient/Documentation.docc")
        let article = try String(contentsOf: articles.appendingPathComponent("\(name).md"), encoding: .utf8)
        #expect(article.contains("```swift\n\(code)```\n"))
    }

    @Test("Getting started ends with a match")
    func gettingStarted() async throws {
        try await withDaemon { broker, daemon in
            daemon.follow("device/update") { request in
                let device = request.parameters["id"]?.asString ?? ""
                let match = String(decoding: MatchMonitorTests.match("1").serialised(), as: UTF8.self)
                return ("geomatch/demo/me/match/\(device)/s", match)
            }
            let match = try await meetAtTheCafe(broker: broker.configuration().broker)
            #expect(match?.id == "1")
        }
    }

    @Test("An application is tested without a daemon")
    func testing() async throws {
        #expect(try await arrivalIsGreeted() == "Hello, phone!")
    }

    @Test("Live data follows a floor")
    func liveData() async throws {
        try await withDaemon { broker, daemon in
            daemon.update("demo/hq/-/1/hall/-/occupancy", #"{"nrOfPeople":12}"#)
            daemon.update("demo/hq/-/1/-/desk/availability", #"{"available":true}"#)
            daemon.follow("live/subscribe") { request in
                let payload =
                    #"{"topic":"demo/hq/-/1/-/desk/availability","itemId":"desk","timestamp":1,"receivedAt":2,"#
                    + #""properties":{"available":true},"left":true}"#
                return ("geomatch/demo/me/live/\(request.parameters["id"]?.asString ?? "")", payload)
            }
            let lines = try await followTheFloor(broker: broker.configuration().broker, count: 3)
            #expect(lines == ["hall: 12 people", "desk: free", "desk is gone"])
        }
    }

    @Test("Matches reach a delegate on the main actor")
    func matches() async throws {
        try await withDaemon { broker, daemon in
            let client = try GeomatchClient(broker.configuration())
            daemon.answer("match/list", MatchMonitorTests.list(["1"]))
            let screen = MatchScreen()
            let folder = URL(fileURLWithPath: broker.folder)
            let (phone, monitor) = try await startMonitoring(client, folder: folder, screen: screen)
            #expect(monitor.devices == [phone.id])
            let limit = ContinuousClock.now + .seconds(20)
            while await screen.rows.isEmpty, ContinuousClock.now < limit { await Task.yield() }
            #expect(await screen.rows == ["matched coffee"])
            await client.close()
        }
    }

    @Test("A notebook is written offline and read by another")
    func offlineStore() async throws {
        try await withHub { broker, _ in
            let client = try GeomatchClient(broker.configuration())
            try await client.request("device/create", parameters: ["deviceType": "MobileDevice"])
            let folders = try ["a", "b"].map { name in
                let folder = URL(fileURLWithPath: broker.folder).appendingPathComponent(name)
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                return folder
            }
            let written = try Notebook(folder: folders[0], client: "app")
            try written.write("under the dome", as: "n")
            try written.addCafe()
            #expect(try written.read("n") == "under the dome" && written.status == "stopped, 2 to go")
            let read = try Notebook(folder: folders[1], client: "app")
            let changes = read.changes
            try read.keepInStep(with: client)
            try written.keepInStep(with: client)
            #expect(await changes.first { $0.id == "cafe" }?.source == .remote)
            #expect(try read.read("n") == "under the dome")
            #expect(try await client.devices.get("cafe").name == "Café")
            await client.close()
        }
    }

    @Test("Errors are shown to a person, and the connection is followed")
    func errors() async throws {
        try await withDaemon { broker, daemon in
            let client = try GeomatchClient(broker.configuration())
            let draft = GeoPublication.Draft(on: "cafe", topic: "coffee", range: 9000, duration: .seconds(1), id: "p")
            daemon.answer(
                "publication/create",
                .error(["code": 400, "error": "invalid", "message": "range is 1 to 5000", "field": "range"]))
            #expect(await offer(draft, client) == "range is wrong: range is 1 to 5000")
            #expect(await offer(draft, client) == "offered as p")

            let manager = try LiveDataManager(broker.configuration())
            let shown = Mutex<[String]>([])
            let following = Task { await followConnection(manager) { text in shown.withLock { $0.append(text) } } }
            let events = manager.events
            while shown.withLock({ $0.isEmpty }) {
                let subscription = try await manager.subscribe(to: LiveCriteria())
                try await manager.unsubscribe(subscription)
                _ = await events.first { if case .stateChanged(.closed) = $0 { true } else { false } }
            }
            #expect(["connecting…", "live"].contains(shown.withLock { $0[0] }))
            manager.close()
            await following.value
            await client.close()
        }
    }
}
