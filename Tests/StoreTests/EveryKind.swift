import Circumstances
import Geodesy
import Geofencing
import Places
import Ranging
import Records

/// Changes that leave a row of every kind, and of every shape that a row of it can have.
enum EveryKind {
    static let dataset = "city"

    static var changes: [DurableChange] { older + geofences + accessKeys + replication }

    /// What there was before geofences.
    static var older: [DurableChange] { objects + circumstances + whatGoesOn + feed + deletions }

    private static var geofences: [DurableChange] {
        var delivery = Delivery()
        (delivery.matched, delivery.dropped, delivery.lastMatchAt, delivery.lastError) = (3, 1, 8, "refused")
        var event = EventRecord(
            number: 5, dataset: dataset, id: "e", source: .geofence, sourceID: "plain", owner: "client", createdAt: 13,
            body: [0x7B, 0x7D])
        (event.pushers, event.secret, event.push) = (["https://example.com/é"], "s3cret é", #"{"deviceId":"tag"}"#)
        var wanted = SubscriptionRecord(
            dataset: dataset, id: "wanted", deviceId: "tag", topic: "taxi", range: 10, duration: 60, owner: "client",
            createdAt: 6, updatedAt: 6, revision: "1-w")
        wanted.homeAssistant = true
        let stay = StayRow(latitude: 43, longitude: 7, since: 14, isMoving: nil, delay: 7)
        return [
            .put(wanted),
            .put(
                VisitRecord(
                    dataset: dataset, subscriptionId: "wanted", publicationId: "offer", id: "match 5", since: 14,
                    outsideSince: 15)),
            .put(StayRecord(dataset: dataset, deviceID: "walker", stay: stay)),
            .put(
                GeofenceRecord(
                    dataset: dataset, owner: "client", id: "owntracks/home", name: "Home é",
                    area: #"{"circle":{"latitude":43,"longitude":7,"radius":100}}"#, devices: ["client/*"],
                    rule: FenceRule(accuracy: .certain, floor: .same, exitMargin: 2.5, dwell: 1500, staleAfter: 60_000),
                    pushers: ["https://example.com/é"], secret: "s3cret", notification: "{}", isEnabled: false, createdAt: 11,
                    updatedAt: 12, revision: "2-n")),
            .put(
                GeofenceRecord(
                    dataset: dataset, owner: "client", id: "plain", area: "{}", createdAt: 11, updatedAt: 11, revision: "1-o")),
            .putDelivery(dataset: dataset, geofence: "client/plain", delivery),
            .put(
                GeofenceVisitRecord(
                    dataset: dataset, geofence: "client/plain", deviceID: "tag", id: "event", since: 13, hasDwelled: true,
                    outsideSince: 14)),
            .put(event), .eventProgress(number: 5, completed: 1, fate: .expired),
        ]
    }

    private static var accessKeys: [DurableChange] {
        [
            .put(
                AccessKeyRecord(
                    dataset: dataset, id: "used", client: "client", name: "Key é", createdAt: 1, expiresAt: 2, digest: [0, 255])),
            .put(
                AccessKeyRecord(
                    dataset: AccessKeyRecord.anyDataset, id: "plain", client: "client", name: "n", createdAt: 1, digest: [1])),
            .useAccessKey(dataset: dataset, id: "used", at: 3),
        ]
    }

    private static var objects: [DurableChange] {
        var open = DatasetRecord(id: dataset, createdAt: 1, updatedAt: 1, revision: "1-a")
        open.name = "City é"
        let strict = DatasetRecord(
            id: "park", policy: "strict", domains: ["position", "a\"b"], autoCreateDevices: false, derivedOccupancy: true,
            timeZone: "Europe/Monaco", createdAt: 2, updatedAt: 3, revision: "2-b")
        var tag = DeviceRecord(
            dataset: dataset, id: "tag", type: .mobile, name: "Tag", group: ["g", ""], platform: "ios", deviceToken: "t",
            owner: "client", createdAt: 4, updatedAt: 5, revision: "1-d")
        tag.carries = BeaconIdentity(proximityUUID: "F7826DA6", major: 0, minor: 65535)
        tag.ranging = RangingSettings(n: 1.75, rssiOffset: -3.5, filter: .kalman)
        let beacon = DeviceRecord(
            dataset: dataset, id: "beacon", type: .beacon, beacon: BeaconIdentity(proximityUUID: "F7826DA6", major: 1, minor: 2),
            createdAt: 4, updatedAt: 4, revision: "1-e")
        var visiting = SubscriptionRecord(
            dataset: dataset, id: "visiting", deviceId: "tag", topic: "taxi", range: 99.9, duration: 1e300, selector: "a = 'b'",
            matchTTL: 0, matchDTL: 12.5, excludeSelf: true, pushers: ["https://example.com/é"], hints: ["mute"], owner: "client",
            createdAt: 6, updatedAt: 7, revision: "3-f")
        (visiting.mode, visiting.exitMargin, visiting.dwell, visiting.staleAfter) = (.visit, 0, 0.001, 90.5)
        (visiting.accuracy, visiting.floor, visiting.secret) = (.certain, .same, "s3cret é")
        let plain = SubscriptionRecord(
            dataset: dataset, id: "plain", deviceId: "tag", topic: "taxi", range: 10, duration: 60, owner: nil, createdAt: 6,
            updatedAt: 6, revision: "1-g")
        var delivery = Delivery()
        (delivery.matched, delivery.delivered, delivery.retried, delivery.expired, delivery.dropped) = (9, 4, 1, 2, 1)
        (delivery.lastMatchAt, delivery.lastError) = (8, "refused")
        return [
            .put(open), .put(strict),
            .put(
                StructureRecord(
                    dataset: dataset, level: .floor, parents: ["v", "-"], id: "1", name: "First", floorIndex: 1, capacity: 12,
                    geometry: "{}")),
            .put(StructureRecord(dataset: dataset, level: .venue, parents: [], id: "v")),
            .put(tag), .put(beacon), .put(visiting), .put(plain),
            .put(
                PublicationRecord(
                    dataset: dataset, id: "offer", deviceId: "beacon", topic: "taxi", range: 5000, duration: 0.001,
                    properties: #"{"a":[1,"x"]}"#, owner: "client", createdAt: 6, updatedAt: 6, revision: "1-h")),
            .putDelivery(dataset: dataset, subscriptionId: "visiting", delivery),
            .putHints(dataset: dataset, subscriptionId: "plain", ["a", "b"]),
            .put(
                BeaconMonitorRecord(
                    dataset: dataset, client: "client", id: "m", proximityUUID: "F7826DA6", major: 65535, minor: 0,
                    devices: ["tag"], createdAt: 9)),
            .put(
                LiveSubscriptionRecord(
                    dataset: dataset, client: "client", id: "l", criteria: "city/#", condition: "a = 'é'", within: "{}",
                    minInterval: 5, qos: 1, snapshot: false, lease: 0.1, leaseUntil: 10, createdAt: 9, number: 2)),
        ]
    }

    private static var circumstances: [DurableChange] {
        let triangle = [(0.0, 0.0), (0.001, 0.0), (0.0, 0.001), (0.0, 0.0)].map {
            Area.Polygon.Vertex(longitude: 7 + $0.0, latitude: 43 + $0.1)
        }
        let outline = (try? PlaceGeometry(polygons: [[triangle]])) ?? .point(latitude: 0, longitude: 0)
        let café = Place(
            id: "café", name: "Café", categoryIDs: ["amenity=cafe"], chainID: "Q1", openingHours: "Mo-Fr 09:00-17:00",
            timeZone: "Europe/Monaco",
            holidays: Holidays(publicDays: ["2026-12-25"], schoolRanges: [.init(first: "2026-07-01", last: "2026-08-31")]),
            placerank: 0.5, geometry: outline, owner: "client", revision: "1-i")
        let bench = Place(id: "bench", geometry: .point(latitude: 43.5, longitude: -7.5), revision: "1-j")
        return [
            .put(
                CategoryRecord(
                    dataset: dataset,
                    category: Category(id: "amenity=cafe", name: "Cafés", parentID: "amenity", owner: "client", revision: "1-k"))),
            .put(PlaceRecord(dataset: dataset, place: café)), .put(PlaceRecord(dataset: dataset, place: bench)),
            .put(VerificationRecord(dataset: dataset, placeID: "café", hour: 167, count: 3)),
            .put(
                CircumstanceRecord(
                    dataset: dataset, id: "coffee", owner: "client", expression: "(moving)", trigger: .arriving, name: "Coffee",
                    tags: ["t"], devices: ["tag"], nearRadius: 10.5, exitMargin: 0, debug: true, isEnabled: false, createdAt: 11,
                    updatedAt: 12, revision: "2-l")),
            .put(
                CircumstanceRecord(
                    dataset: dataset, id: "asked", owner: "client", expression: "(moving)", createdAt: 11, updatedAt: 11,
                    revision: "1-m")),
            .put(HeldRecord(dataset: dataset, circumstanceID: "coffee", deviceID: "tag")),
            .put(
                PlaceVisitRecord(
                    dataset: dataset, deviceID: "tag",
                    visits: VisitRow(placeID: "café", count: 3, ends: [1, 2], openSince: 13, level: .high))),
            .put(
                StayRecord(
                    dataset: dataset, deviceID: "tag",
                    stay: StayRow(latitude: 43, longitude: 7, since: 13, isMoving: true, delay: nil))),
            .put(
                EventRecord(
                    number: 1, dataset: dataset, id: "i", source: .beacon, sourceID: "m", owner: "client", createdAt: 13,
                    body: [0x7B, 0x7D])),
        ]
    }

    private static var whatGoesOn: [DurableChange] {
        func match(_ number: Int64, pending: Bool) -> MatchRecord {
            MatchRecord(
                number: number, dataset: dataset, id: "match \(number)", deviceId: "tag", subscriptionId: "visiting",
                publicationId: "offer", owner: "client", createdAt: 14, body: [UInt8(number)], pending: pending,
                pushers: ["https://example.com/é"], secret: "s3cret é")
        }
        return [
            .put(
                PairRecord(
                    dataset: dataset, subscriptionId: "visiting", publicationId: "offer", lastMatchAt: 14,
                    publicationLatitude: -89.999999999, publicationLongitude: 180, subscriptionLatitude: nil,
                    subscriptionLongitude: 1 / 3)),
            .put(
                VisitRecord(
                    dataset: dataset, subscriptionId: "visiting", publicationId: "offer", id: "match 2", since: 14)),
            .put(match(2, pending: true)), .put(match(3, pending: true)), .put(match(4, pending: true)),
            .matchCompleted(number: 2), .matchProgress(number: 3, completed: 1, fate: .expired), .forgetMatch(number: 4),
            .put(
                LiveStateRecord(
                    dataset: dataset, topic: "city/-/-/-/-/tag/position", timestamp: 15, receivedAt: 16, number: 7,
                    payload: [0x7B, 0x7D])),
            .put(
                LiveStateRecord(dataset: dataset, topic: "cleared", timestamp: 15, receivedAt: 16, number: 8, payload: nil)),
            .put(ReplyRecord(dataset: dataset, client: "client", requestId: "r", at: 17, body: [0x7B, 0x7D])),
            .putFilters(broker: "embedded", ["city/#", "park/#"]),
            .put(FollowerRecord(dataset: dataset, client: "client", since: 2, lease: 3600, leaseUntil: 18)),
        ]
    }

    private static var replication: [DurableChange] {
        [
            .put(
                CheckpointRecord(
                    dataset: dataset, client: "client", id: "phöne", number: 3, at: 18, body: Array("{\"last\":2}".utf8)))
        ]
    }

    private static var feed: [DurableChange] {
        func leaves(_ revisions: [(String, Bool)]) -> [DocumentLeaf] {
            revisions.compactMap { text, isDeleted in
                RevisionID(text).map {
                    DocumentLeaf(revision: $0, isDeleted: isDeleted, content: Array("{\"r\":\"\(text)\"}".utf8))
                }
            }
        }
        return [
            .putDocument(
                DocumentRecord(
                    dataset: dataset, type: "note", id: "n", owner: "client", reader: "client",
                    leaves: leaves([("3-b", false), ("3-a", false), ("4-d", true)]), ancestors: ["1-a", "2-a"])),
            // Objects of ours that lost a conflict, one of a place.
            .putDocument(
                DocumentRecord(
                    dataset: dataset, type: "device", id: "tag", owner: "client", reader: "client",
                    leaves: leaves([("2-d", false), ("2-a", false)]), ancestors: ["1-d"])),
            .putDocument(
                DocumentRecord(
                    dataset: dataset, type: "place", id: "café", owner: "client", reader: nil,
                    leaves: leaves([("2-i", false), ("2-a", false)]), ancestors: ["1-i"])),
        ]
    }

    private static var deletions: [DurableChange] {
        [
            .put(
                PlaceRecord(
                    dataset: dataset, place: Place(id: "gone", geometry: .point(latitude: 1, longitude: 2), revision: "1-n"))),
            .deletePlace(dataset: dataset, id: "gone"),
            .put(DeviceRecord(dataset: dataset, id: "gone", type: .pin, createdAt: 1, updatedAt: 1, revision: "1-o")),
            .deleteDevice(dataset: dataset, id: "gone"), .forgetTombstones(before: 19, at: 19),
            .put(
                PlaceRecord(dataset: "old", place: Place(id: "p", geometry: .point(latitude: 1, longitude: 2), revision: "1-p"))),
            .deleteDataset(id: "old", at: 20),
        ]
    }
}
