import Cluster
import Foundation
import PostgresServer
import Testing

@testable import PostgresStore
@testable import Records
@testable import Store

@Suite("Leases in PostgreSQL")
struct LeaseTests {
    /// A cluster in a schema of its own, gone afterwards.
    private func withCluster(_ body: (_ join: (String) throws -> PostgresCluster) throws -> Void) throws {
        let server = try PostgresServer.shared.get()
        let schema = "test " + UUID().uuidString
        var clusters: [PostgresCluster] = []
        defer { for cluster in clusters { cluster.close() } }
        try body { name in
            let cluster = try PostgresCluster(url: server.url, schema: schema, name: name)
            clusters.append(cluster)
            return cluster
        }
        for cluster in clusters { cluster.close() }
        clusters = []
        let connection = try server.connection(schema)
        try connection.send("DROP SCHEMA \"\(schema)\" CASCADE")
        try connection.finish()
    }

    private func device(_ id: String, of dataset: String) -> DurableChange {
        .put(DeviceRecord(dataset: dataset, id: id, type: .mobile, createdAt: 1, updatedAt: 1, revision: "1-a"))
    }

    @Test("A shard is taken, renewed, announced, prepared and handed over; each owner has an epoch of its own")
    func steps() throws {
        try withCluster { join in
            let leases = try join("c").leases
            let (a, b) = (NodeEntry(name: "a", life: "1"), NodeEntry(name: "b", life: "1", address: "http://b"))
            try leases.join(a)
            try leases.join(b)
            try leases.take([3: 0, 4: 0], for: "a")
            try leases.take([3: 0, 4: 7], for: "b")
            var view = try leases.renew(a, leases: [3: 1, 4: 1])
            #expect(view.nodes.map(\.name) == ["a", "b"] && view.nodes[1].address == "http://b")
            #expect(view.leases[3] == ClusterView.Lease(owner: "a", epoch: 1) && view.owner(of: 4) == "a")
            #expect(view.owner(of: 5) == nil && view.leases.count == Sharding.count)
            try leases.announce([3: "b", 4: nil], by: "a")
            try leases.prepare([3, 4], for: "b")
            view = try leases.renew(a, leases: [:])
            #expect(view.leases[3] == ClusterView.Lease(owner: "a", epoch: 1, successor: "b", isPrepared: true))
            #expect(view.leases[4].successor == nil && !view.leases[4].isPrepared)
            try leases.handOver(3, epoch: 1, to: "b")
            try leases.handOver(4, epoch: 9, to: "b")
            try leases.handOver(4, epoch: 1, to: nil)
            view = try leases.renew(b, leases: [3: 2])
            #expect(view.leases[3] == ClusterView.Lease(owner: "b", epoch: 2))
            #expect(view.leases[4].owner == nil && view.leases[4].epoch == 2)
            try leases.leave(a)
            #expect(try leases.renew(b, leases: [:]).nodes.map(\.name) == ["b"])
        }
    }

    @Test("What a dataset holds is as its last owner said")
    func contents() throws {
        try withCluster { join in
            let (a, b) = (try join("c"), try join("c"))
            func write(_ cluster: PostgresCluster, _ dataset: String, _ epoch: Int64, _ value: String?) throws {
                try cluster.write([SharedContents(dataset: dataset, epoch: epoch, value: value)])
            }
            try write(a, "d", 1, #"{"counts":{}}"#)
            try write(a, "e", 1, "{}")
            try write(b, "d", 2, #"{"counts":{"devices":1}}"#)
            try write(a, "d", 1, "{}")
            try write(b, "e", 1, nil)
            for cluster in [a, b] {
                #expect(cluster.contents(of: ["d", "e"]) == ["d": Array(#"{"counts":{"devices":1}}"#.utf8)])
            }
        }
    }

    @Test("A lease that is not renewed is overdue before it ends")
    func overdue() throws {
        try withCluster { join in
            let cluster = try join("c")
            let (leases, a) = (cluster.leases, NodeEntry(name: "a", life: "1"))
            try leases.join(a)
            try leases.take([0: 0], for: "a")
            var lease = try leases.renew(a, leases: [0: 1]).leases[0]
            #expect(!lease.isOverdue)
            while !lease.isOverdue { lease = try leases.renew(a, leases: [:]).leases[0] }
            #expect(!lease.isExpired && lease.owner == "a")
            _ = try leases.renew(a, leases: [0: 1])
            lease = try leases.renew(a, leases: [:]).leases[0]
            #expect(!lease.isOverdue)
        }
    }

    @Test("Who is to have a shard has what was written since it restored it, where the owner knew; else it has to begin anew")
    func following() throws {
        try withCluster { join in
            let (cluster, other) = (try join("c"), try join("c"))
            let dataset = "demo"
            let shard = Sharding.shard(of: dataset)
            try cluster.leases.join(NodeEntry(name: "a", life: "1"))
            try cluster.leases.take([shard: 0], for: "a")
            let (owner, successor) = (cluster.store(of: shard, epoch: 1), other.store(of: shard, epoch: 2))
            func commit(_ ids: String...) throws { try owner.commit(ids.map { device($0, of: dataset) }) }
            func restored() throws -> (devices: [String], times: Int64) {
                var devices: [String] = []
                let times = try successor.restoreShard(repliesSince: .min) { change in
                    if case .put(let record as DeviceRecord) = change { devices.append(record.id) }
                }
                return (devices, times)
            }
            func news(since times: Int64) throws -> (ids: [String], through: Int64)? {
                guard case .changes(let changes, let through, _) = try successor.changes(since: times) else { return nil }
                return (changes.map { if case .put(let record as DeviceRecord) = $0 { record.id } else { "" } }, through)
            }
            try owner.commit([.put(DatasetRecord(id: dataset, createdAt: 1, updatedAt: 1, revision: "1-a"))])
            try commit("one")
            let early = try restored()
            #expect(early.devices == ["one"] && early.times == 2)
            #expect(try news(since: early.times)?.ids == [])
            try commit("two")
            // Nobody knew that it would be wanted.
            #expect(try news(since: early.times) == nil)
            owner.isFollowed = true
            let late = try restored()
            #expect(late.devices == ["one", "two"])
            try commit("three", "four")
            try owner.commit([.deleteDevice(dataset: dataset, id: "one")])
            // Before the former owner's log began, its end is missing still.
            #expect(try news(since: early.times) == nil)
            let found = try #require(try news(since: late.times))
            #expect(found.ids == ["three", "four", ""] && found.through == late.times + 2)
            try successor.forgetChanges(through: found.through)
            #expect(try news(since: found.through)?.ids == [])
            #expect(try news(since: late.times) == nil)
            for _ in 0..<250 { try commit("more") }
            var (through, count) = (found.through, 0)
            while let more = try news(since: through), !more.ids.isEmpty {
                (through, count) = (more.through, count + more.ids.count)
            }
            #expect(count == 250)
            let elsewhere = try cluster.store(of: (shard + 1) % Sharding.count, epoch: 0).restoreShard(repliesSince: .min) { _ in
            }
            #expect(elsewhere == 0)
            owner.isFollowed = false
            try commit("five")
            #expect(try news(since: through) == nil)
        }
    }

    @Test("Who is behind by many small commits hears how many, and is not taken for one that has nearly all")
    func smallCommits() throws {
        try withCluster { join in
            let (owner, successor) = try followed(by: join)
            let times = try successor.restoreShard(repliesSince: .min) { _ in }
            for _ in 0..<250 { try owner.commit([device("x", of: "demo")]) }
            var (through, behind) = (times, [Int64]())
            while behind.last != 0 {
                guard case .changes(let changes, let next, let remaining) = try successor.changes(since: through) else {
                    return #expect(Bool(false), "\(behind)")
                }
                #expect(changes.count == Int(next - through))
                through = next
                behind.append(remaining)
            }
            #expect(behind == [150, 50, 0])
        }
    }

    @Test("What was left for a node that follows does not stay where that dies and nobody follows any more")
    func trail() throws {
        try withCluster { join in
            let (owner, successor) = try followed(by: join)
            let times = try successor.restoreShard(repliesSince: .min) { _ in }
            try owner.commit([device("x", of: "demo")])
            guard case .changes(_, times + 1, 0) = try successor.changes(since: times) else { return #expect(Bool(false)) }
            owner.isFollowed = false
            try owner.commit([device("y", of: "demo")])
            guard case .unknown = try successor.changes(since: times) else { return #expect(Bool(false)) }
            owner.isFollowed = true
            try owner.commit([device("z", of: "demo")])
            guard case .changes(let changes, times + 3, 0) = try successor.changes(since: times + 2) else {
                return #expect(Bool(false))
            }
            #expect(changes == [device("z", of: "demo")])
        }
    }

    /// A shard with the dataset `demo`, as its owner has it and as the node that is to have it reads it.
    private func followed(
        by join: (String) throws -> PostgresCluster
    ) throws -> (owner: PostgresStore, successor: PostgresStore) {
        let (cluster, other) = (try join("c"), try join("c"))
        let shard = Sharding.shard(of: "demo")
        try cluster.leases.join(NodeEntry(name: "a", life: "1"))
        try cluster.leases.take([shard: 0], for: "a")
        let owner = cluster.store(of: shard, epoch: 1)
        owner.isFollowed = true
        try owner.commit([.put(DatasetRecord(id: "demo", createdAt: 1, updatedAt: 1, revision: "1-a"))])
        return (owner, other.store(of: shard, epoch: 2))
    }

    @Test("A node that lives keeps its name, and a cluster its store, against daemons without one, too")
    func refusals() throws {
        try withCluster { join in
            let cluster = try join("c")
            try cluster.leases.join(NodeEntry(name: "a", life: "1"))
            #expect(throws: JoinRefusal.nameInUse) { try cluster.leases.join(NodeEntry(name: "a", life: "2")) }
            #expect(throws: JoinRefusal.otherCluster("c")) { try join("d").leases.join(NodeEntry(name: "b", life: "1")) }
            let schema = cluster.store(of: 0, epoch: 0).schema
            #expect(throws: StoreError.self) { try PostgresStore(url: PostgresServer.shared.get().url, schema: schema) }
        }
    }

    @Test("A node that has lost a shard commits nothing of it any more, and loses no commit of another")
    func fence() throws {
        try withCluster { join in
            let cluster = try join("c")
            let dataset = "demo"
            let shard = Sharding.shard(of: dataset)
            try cluster.leases.join(NodeEntry(name: "a", life: "1"))
            try cluster.leases.take([shard: 0], for: "a")
            let former = cluster.store(of: shard, epoch: 1)
            try former.commit([
                .put(DatasetRecord(id: dataset, createdAt: 1, updatedAt: 1, revision: "1-a")), device("one", of: dataset),
            ])
            try cluster.leases.handOver(shard, epoch: 1, to: "b")
            #expect(throws: StoreError.fenced) { try former.commit([device("late", of: dataset)]) }
            let present = cluster.store(of: shard, epoch: 2)
            try present.commit([device("two", of: dataset)])
            var devices: [String] = []
            try present.restore { change in if case .put(let record as DeviceRecord) = change { devices.append(record.id) } }
            #expect(devices == ["one", "two"])
        }
    }

    @Test("A node that lost a shard removes nothing of a deleted dataset any more, and nobody removes what is another shard's")
    func fenceOfPurge() throws {
        try withCluster { join in
            let cluster = try join("c")
            let (city, other) = (Sharding.shard(of: "demo"), Sharding.shard(of: "home"))
            try cluster.leases.take([city: 0, other: 0], for: "a")
            let former = cluster.store(of: city, epoch: 1)
            former.purge.atOnce = 10
            let devices = (0..<50).map { device("d\($0)", of: "demo") }
            try former.commit([.put(DatasetRecord(id: "demo", createdAt: 1, updatedAt: 1, revision: "1-a"))] + devices)
            try former.commit([.deleteDataset(id: "demo", at: 9)])
            #expect(try former.hasPendingPurge && former.purgeSome(looking: 5))
            let neighbour = cluster.store(of: other, epoch: 1)
            #expect(try !neighbour.hasPendingPurge && !neighbour.purgeSome(looking: 5))
            try cluster.leases.handOver(city, epoch: 1, to: "b")
            #expect(throws: StoreError.fenced) { try former.purgeSome(looking: 5) }
            let present = cluster.store(of: city, epoch: 2)
            var pieces = 0
            while try present.purgeSome(looking: 5) { pieces += 1 }
            // Each portion is five rows: forty-five documents were left, had the former owner removed none.
            #expect(try pieces >= 8 && !present.hasPendingPurge)
        }
    }

    @Test("A node that has lost a shard does not note that its life ended well")
    func fenceOfMetadata() throws {
        try withCluster { join in
            let cluster = try join("c")
            try cluster.leases.take([3: 0], for: "a")
            let former = cluster.store(of: 3, epoch: 1)
            try former.setMetadata("life/3", "begun")
            try cluster.leases.handOver(3, epoch: 1, to: "b")
            #expect(throws: StoreError.fenced) { try former.setMetadata("life/3", "ended") }
            #expect(try cluster.store(of: 3, epoch: 2).metadata("life/3") == "begun")
        }
    }

    @Test("A node that was replaced removed its replacement when it left")
    func replacedLeaves() throws {
        try withCluster { join in
            let leases = try join("c").leases
            let (former, present) = (NodeEntry(name: "a", life: "1"), NodeEntry(name: "a", life: "2"))
            try leases.join(present)
            try leases.leave(former)
            #expect(try leases.renew(present, leases: [:]).nodes.map(\.name) == ["a"])
        }
    }

    @Test("A shard writes no dataset of another one")
    func foreignDataset() throws {
        try withCluster { join in
            let cluster = try join("c")
            let shard = (Sharding.shard(of: "demo") + 1) % Sharding.count
            try cluster.leases.take([shard: 0], for: "a")
            #expect(throws: StoreError.self) {
                try cluster.store(of: shard, epoch: 1).commit([
                    .put(DatasetRecord(id: "demo", createdAt: 1, updatedAt: 1, revision: "1-a"))
                ])
            }
        }
    }

    @Test("A store of a shard gives back what is its own, and its numbers are never those of another")
    func parts() throws {
        try withCluster { join in
            let cluster = try join("c")
            let datasets = ["demo", "home", "a", "b"]
            let shards = Dictionary(uniqueKeysWithValues: datasets.map { (Sharding.shard(of: $0), Int64(0)) })
            try cluster.leases.take(shards, for: "a")
            for dataset in datasets {
                try cluster.store(of: Sharding.shard(of: dataset), epoch: 1).commit([
                    .put(DatasetRecord(id: dataset, createdAt: 1, updatedAt: 1, revision: "1-a")), device("phone", of: dataset),
                ])
            }
            for dataset in datasets {
                var found: Set<String> = []
                try cluster.store(of: Sharding.shard(of: dataset), epoch: 1).restore {
                    if let name = $0.dataset { found.insert(name) }
                }
                #expect(found == [dataset])
            }
        }
    }
}
