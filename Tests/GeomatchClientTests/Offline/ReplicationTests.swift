import Foundation
import SeededRandom
import Testing

@testable import GeomatchClient
@testable import Records

@Suite("Replicas and a daemon", .timeLimit(.minutes(5)))
struct ReplicationTests {
    /// A store of its own, and its client.
    private struct Phone {
        let store: OfflineStore
        let client: GeomatchClient

        init(_ name: String, _ broker: TestBroker, _ folder: String, file: String? = nil) throws {
            store = try OfflineStore(
                file: URL(fileURLWithPath: folder + "/\(file ?? name).sqlite"), dataset: "museum", client: "app")
            client = try GeomatchClient(broker.configuration())
        }

        /// Everything it has, one line each.
        func contents(_ types: [String] = ["note"]) throws -> [String] {
            try types.flatMap { try store.documents(type: $0, limit: 100_000) }.map {
                "\($0.type) \($0.id) \($0.revision) \(PropertyValue.object($0.members))"
            }
        }
    }

    private func withPhones(_ body: (TestBroker, HubDaemon, Phone, Phone) async throws -> Void) async throws {
        try await withHub { broker, hub in
            let (a, b) = (try Phone("a", broker, broker.folder), try Phone("b", broker, broker.folder))
            // The dataset comes into being with its first object.
            try await a.client.request("device/create", parameters: ["deviceType": "MobileDevice", "id": "phone"])
            try await body(broker, hub, a, b)
            await a.client.close()
            await b.client.close()
        }
    }

    @Test("What one wrote offline the other has, and the daemon makes objects of it")
    func once() async throws {
        try await withPhones { _, _, a, b in
            try a.store.put(["text": "one"], type: "note", id: "n")
            let pin = try a.store.devices.put(.pin(id: "cafe", name: "Café", location: GeoLocation(latitude: 1, longitude: 2)))
            try a.store.publications.put(
                GeoPublication.Draft(
                    on: pin.id, topic: "coffee", range: 50, duration: .seconds(3600), properties: ["p": 3], id: "p"))
            try a.store.beacons.put(GeoBeacon(id: "b", proximityID: UUID(), major: 1, minor: 2))
            try a.store.sightings.put(
                GeoSighting(id: "s", deviceID: "phone", proximityUUID: UUID(), major: 1, minor: 2, rssi: -60))
            let progress = try await a.store.sync(with: a.client)
            #expect(progress.pending == 0 && progress.lastError == nil)
            #expect(try await a.client.devices.get("cafe").name == "Café")
            #expect(try await a.client.publications.get("p").properties == ["p": 3])
            try await b.store.sync(with: b.client)
            #expect(try b.store.document(type: "note", id: "n")?["text"] == "one")
            #expect(try b.store.devices.get("cafe")?.location?.latitude == 1)
            #expect(try b.store.devices.list().map(\.id) == ["cafe", "phone"])
            #expect(try b.store.publications.get("p")?.topic == "coffee")
            #expect(try b.store.beacons.list().map(\.major) == [1] && b.store.sightings.get("s")?.rssi == -60)
            // Deleted there, gone here.
            try b.store.delete(type: "note", id: "n")
            try b.store.devices.delete("cafe")
            try await b.store.sync(with: b.client)
            try await a.store.sync(with: a.client)
            #expect(try a.store.document(type: "note", id: "n") == nil && a.store.publications.get("p") == nil)
            #expect(await failure { () throws(GeomatchError) in try await a.client.devices.get("cafe") }?.kind == .notFound)
            #expect(a.store.progress == SyncProgress(status: .stopped))
        }
    }

    @Test("Of two that wrote the same document one wins everywhere, and the other is kept")
    func conflict() async throws {
        try await withPhones { _, _, a, b in
            try a.store.put(["text": "a"], type: "note", id: "n")
            try b.store.put(["text": "b"], type: "note", id: "n")
            try await a.store.sync(with: a.client)
            try await b.store.sync(with: b.client)
            try await a.store.sync(with: a.client)
            let winner = try #require(try a.store.document(type: "note", id: "n"))
            #expect(try b.store.document(type: "note", id: "n") == winner)
            #expect(winner.conflicts.count == 1 && !winner.isPending)
            #expect(try a.store.conflicted == [winner])
            // Settled by who is asked.
            b.store.onConflict { conflict in
                .merge([
                    "text": .string(
                        ([conflict.winner] + conflict.others).compactMap { $0["text"]?.stringValue }.sorted().joined())
                ])
            }
            try await b.store.sync(with: b.client)
            try await a.store.sync(with: a.client)
            #expect(try a.store.document(type: "note", id: "n")?["text"] == "ab")
            #expect(try a.contents() == b.contents() && a.store.conflicted.isEmpty)
        }
    }

    @Test("What the daemon does not take goes back to what it was, and is kept to be looked at")
    func refusal() async throws {
        try await withPhones { broker, _, a, _ in
            let other = try GeomatchClient(broker.configuration(client: "other"))
            try await other.request(
                "changes/push", parameters: ["docs": [["id": "n", "type": "note", "revision": "1-a", "text": "theirs"]]])
            await other.close()
            try await a.store.sync(with: a.client)
            try a.store.put(["text": "mine"], type: "note", id: "n")
            try a.store.put(["deviceType": "Toaster"], type: "device", id: "d")
            try a.store.put(["text": "fine"], type: "note", id: "o")
            let changes = a.store.changes
            try await a.store.sync(with: a.client)
            #expect(try a.store.document(type: "note", id: "n")?["text"] == "theirs")
            #expect(try a.store.document(type: "device", id: "d") == nil)
            #expect(try a.store.refusals.map(\.error.kind) == [.forbidden, .invalid])
            #expect(try a.store.refusals.first?.members == ["text": "mine"])
            #expect(await changes.next()?.source == .reverted)
            try a.store.forgetRefusals()
            #expect(try a.store.refusals.isEmpty && a.store.progress.pending == 0)
        }
    }

    @Test("Running continuously, each change is reported once here and there, and the status says how it is")
    func continuous() async throws {
        try await withPhones { broker, hub, a, b in
            let (seenByA, seenByB) = (a.store.changes, b.store.changes)
            let states = b.store.progressUpdates
            try a.store.start(with: a.client)
            try b.store.start(with: b.client)
            _ = await states.first { $0.status == .idle }
            #expect(await seenByB.first { $0.id == "phone" }?.source == .remote)
            _ = await seenByA.first { $0.id == "phone" }
            try a.store.put(["text": "one"], type: "note", id: "n")
            #expect(await seenByB.next()?.id == "n")
            #expect(await seenByA.next()?.source == .local)
            try b.store.put(["text": "two"], type: "note", id: "n")
            #expect(await seenByA.next()?.source == .remote)
            #expect(await seenByB.next()?.source == .local)
            try await a.client.request("device/update", parameters: ["id": "phone", "name": "Phone"])
            #expect(await seenByB.next()?.id == "phone")
            _ = await seenByA.next()
            // The broker goes and comes back, and the daemon begins again.
            broker.kill()
            _ = await states.first { $0.status == .offline }
            try b.store.put(["text": "three"], type: "note", id: "n")
            #expect(b.store.progress.pending == 1)
            try broker.start()
            #expect(await seenByA.next()?.id == "n")
            hub.restart()
            try a.store.put(["text": "four"], type: "note", id: "n")
            _ = await seenByB.first { $0.source == .remote }
            #expect(try b.store.document(type: "note", id: "n")?["text"] == "four")
            a.store.stop()
            b.store.stop()
            _ = await states.first { $0.status == .stopped }
            #expect(a.store.progress.changesCount == 0)
        }
    }

    @Test("What another program writes into the file goes out, too, while it is replicated")
    func otherProgram() async throws {
        try await withPhones { broker, _, a, b in
            let (seenByB, states) = (b.store.changes, a.store.progressUpdates)
            try a.store.start(with: a.client)
            try b.store.start(with: b.client)
            _ = await states.first { $0.status == .idle }
            let other = try Phone("other", broker, broker.folder, file: "a")
            try other.store.put(["text": "from outside"], type: "note", id: "n")
            #expect(await seenByB.first { $0.id == "n" }?.source == .remote)
            await other.client.close()
        }
    }

    @Test("Who begins at 0 again, because the store is another, drops what that does not have and keeps what waits")
    func otherStore() async throws {
        try await withPhones { _, hub, a, b in
            try a.store.put(["text": "old"], type: "note", id: "old")
            try await a.store.sync(with: a.client)
            try a.store.put(["text": "waits"], type: "note", id: "waits")
            hub.wipe()
            try await b.client.request("device/create", parameters: ["deviceType": "MobileDevice", "id": "new"])
            try await a.store.sync(with: a.client)
            #expect(try a.contents(["note", "device"]).map { $0.split(separator: " ")[1] } == ["waits", "new"])
        }
    }

    @Test("A store that has seen nothing yet goes on with another one, too")
    func otherEmptyStore() async throws {
        try await withPhones { _, hub, a, b in
            _ = try await a.store.sync(with: a.client)
            hub.wipe()
            try await b.client.request("device/create", parameters: ["deviceType": "MobileDevice", "id": "new"])
            try a.store.put(["text": "waits"], type: "note", id: "waits")
            try await a.store.sync(with: a.client)
            #expect(try a.store.document(type: "note", id: "waits")?.isPending == false)
        }
    }

    @Test("Who settles a conflict is shown all that lost, however large it is")
    func largeConflict() async throws {
        try await withPhones { _, _, a, _ in
            let pad = String(repeating: "x", count: 150 << 10)
            for hash in ["a", "b", "c"] {
                let document: PropertyValue = .object([
                    "id": "n", "type": "note", "revision": .string("1-\(hash)"), "pad": .string(hash + pad),
                ])
                try await a.client.request("changes/push", parameters: ["docs": .array([document])])
            }
            a.store.onConflict { conflict in
                .merge([
                    "text": .string(
                        ([conflict.winner] + conflict.others).map { String($0["pad"]?.stringValue?.first ?? "?") }.joined())
                ])
            }
            _ = try await a.store.sync(with: a.client)
            #expect(try a.store.document(type: "note", id: "n")?["text"] == "cba")
            #expect(try a.store.conflicted.isEmpty)
        }
    }

    @Test("Who was away for longer than deletions are kept misses none, and what was edited meanwhile is there again")
    func longAway() async throws {
        try await withPhones { _, hub, a, b in
            for id in ["deleted", "both", "kept"] { try a.store.put(["text": "old"], type: "note", id: id) }
            try await a.store.sync(with: a.client)
            try await b.store.sync(with: b.client)
            for id in ["deleted", "both"] { try b.store.delete(type: "note", id: id) }
            try await b.store.sync(with: b.client)
            hub.forgetDeletions()
            try b.store.put(["text": "new"], type: "note", id: "new")
            try await b.store.sync(with: b.client)
            // Back again, with edits of its own.
            for id in ["both", "kept"] { try a.store.put(["text": "edited"], type: "note", id: id) }
            try await a.store.sync(with: a.client)
            #expect(a.store.progress.pending == 0)
            #expect(try a.store.refusals.isEmpty)
            #expect(
                try a.store.documents(type: "note").map { "\($0.id) \($0["text"]?.stringValue ?? "")" } == [
                    "both edited", "kept edited", "new new",
                ])
            try await b.store.sync(with: b.client)
            #expect(try a.contents() == b.contents())
        }
    }

    @Test("Over random edits, cancelled exchanges, restarts and lost brokers, two replicas and the daemon end the same")
    func converge() async throws {
        var random = SplitMix64.forTest()
        for round in 0..<3 {
            var seed = SplitMix64(seed: random.next())
            try await withPhones { broker, hub, a, b in
                var phones = [a, b]
                var written: Set<String> = []
                for step in 0..<60 {
                    let place = seed.below(2)
                    let store = phones[place].store
                    switch seed.below(10) {
                    case 0..<5:
                        let id = "n\(seed.below(6))"
                        try store.put(["text": .string("\(step)")], type: "note", id: id)
                        written.insert(id)
                    case 5: try store.delete(type: "note", id: "n\(seed.below(6))")
                    case 6: hub.restart()
                    case 7:
                        // Ended somewhere on its way, and opened again from the file.
                        let (running, client) = (store, phones[place].client)
                        let exchange = Task { _ = try? await running.sync(with: client) }
                        try? await Task.sleep(for: .microseconds(seed.below(5000)))
                        exchange.cancel()
                        await exchange.value
                        await client.close()
                        phones[place] = try Phone(place == 0 ? "a" : "b", broker, broker.folder)
                    default: try await store.sync(with: phones[place].client)
                    }
                }
                for _ in 0..<3 { for phone in phones { try await phone.store.sync(with: phone.client) } }
                let contents = try phones.map { try $0.contents() }
                #expect(contents[0] == contents[1], "round \(round)")
                #expect(try phones.allSatisfy { try $0.store.refusals.isEmpty && $0.store.progress.pending == 0 })
                let fresh = try Phone("fresh", broker, broker.folder)
                try await fresh.store.sync(with: fresh.client)
                #expect(try fresh.contents() == contents[0], "round \(round)")
                #expect(written.count > 2)
                for phone in phones + [fresh] { await phone.client.close() }
            }
        }
    }

    @Test("A whole bulk goes both ways in portions, with progress that never exceeds its total")
    func bulk() async throws {
        try await withPhones { _, _, a, b in
            for index in 0..<3000 { try a.store.put(["text": .string("\(index)")], type: "note", id: "n\(index)") }
            let updates = a.store.progressUpdates
            let progress = try await a.store.sync(with: a.client)
            #expect(progress.pending == 0)
            var peak = 0
            while let update = await updates.next(), update.status != .stopped {
                #expect(update.completedChangesCount <= update.changesCount)
                peak = max(peak, update.changesCount)
            }
            #expect(peak >= 3000)
            try await b.store.sync(with: b.client)
            #expect(try b.store.count(type: "note") == 3000)
        }
    }
}
