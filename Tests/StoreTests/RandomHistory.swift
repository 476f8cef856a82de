import Circumstances
import Datasets
import Geodesy
import Places
import Ranging
import SeededRandom
@testable import Records

/// Random changes over a few names, so that they meet.
struct RandomHistory {
    var random: SplitMix64
    private var clock: Int64 = 1_700_000_000_000
    private var lastMatch: Int64 = 0
    private var lastLive: Int64 = 0

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    mutating func batch(upTo count: Int) -> [DurableChange] {
        (0..<Int.random(in: 1...count, using: &random)).map { _ in change() }
    }

    private mutating func change() -> DurableChange {
        clock += 1
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<5: return .put(dataset())
        case 5: return .deleteDataset(id: pick(Self.datasets), at: clock)
        case 6..<9: return circumstanceChange()
        case 9..<12: return placeChange()
        case 12..<18: return .put(device())
        case 18: return .forgetDevice(dataset: pick(Self.datasets), id: name("d"))
        case 19..<21: return .deleteDevice(dataset: pick(Self.datasets), id: name("d"))
        case 21..<32: return .put(publication())
        case 32..<34: return .deletePublication(dataset: pick(Self.datasets), id: name("p"))
        case 34..<45: return .put(subscription())
        case 45..<47: return .deleteSubscription(dataset: pick(Self.datasets), id: name("s"))
        case 47..<52: return .putDelivery(dataset: pick(Self.datasets), subscriptionId: name("s"), delivery())
        case 52..<54: return .putHints(dataset: pick(Self.datasets), subscriptionId: name("s"), texts())
        case 54..<58: return .put(pair())
        case 58..<61: return .put(visit())
        case 61:
            let visit = visit()
            return .deleteVisit(
                dataset: visit.dataset, subscriptionId: visit.subscriptionId, publicationId: visit.publicationId)
        case 62..<72: return .put(match())
        case 72:
            return .matchProgress(
                number: Int64.random(in: 0...lastMatch + 1, using: &random), completed: pick([1, 0x1FFFF, .max]),
                fate: pick(MatchFate.allCases))
        case 73..<78: return .matchCompleted(number: Int64.random(in: 0...lastMatch + 1, using: &random))
        case 78..<82: return .forgetMatch(number: Int64.random(in: 0...lastMatch + 1, using: &random))
        case 82..<91: return .put(liveState())
        case 91..<93: return .forgetLiveState(dataset: pick(Self.datasets), topic: name("t"))
        case 93: return .put(liveSubscription())
        case 94:
            return chance()
                ? .put(liveSubscription())
                : .deleteLiveSubscription(dataset: pick(Self.datasets), client: pick(["a", "b"]), id: name("l"))
        case 95: return .put(reply())
        case 96:
            return chance()
                ? .put(monitor())
                : .deleteBeaconMonitor(dataset: pick(Self.datasets), client: pick(["a", "b"]), id: name("m"))
        case 98: return .put(structure())
        case 97: return .forgetReplies(before: clock - Int64.random(in: 0..<400, using: &random))
        default: return .putFilters(broker: pick(["embedded", "mqtt://other"]), texts())
        }
    }

    private static let datasets = ["city", "park", "é"]

    private mutating func pick<Value>(_ values: [Value]) -> Value { values[Int.random(in: 0..<values.count, using: &random)] }
    private mutating func name(_ prefix: String) -> String { "\(prefix)\(Int.random(in: 0..<6, using: &random))" }
    private mutating func maybe<Value>(_ value: Value) -> Value? { Bool.random(using: &random) ? value : nil }
    private mutating func texts() -> [String] {
        (0..<Int.random(in: 0..<4, using: &random)).map { _ in pick(["a", "", "\"\\", "\u{1}\n\u{0}", "+/+/é🙂", "x,y]"]) }
    }
    private mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<Int.random(in: 0..<count, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    private mutating func dataset() -> DatasetRecord {
        DatasetRecord(
            id: pick(Self.datasets), name: maybe("a name"), policy: pick(["open", "strict"]), domains: maybe(texts()),
            autoCreateDevices: pick([true, false]), derivedOccupancy: pick([true, false]), timeZone: "Europe/Monaco",
            livePositions: pick(LivePositions.allCases), createdAt: clock, updatedAt: clock, revision: "1-\(clock)")
    }

    private mutating func structure() -> StructureRecord {
        let level = pick(StructureLevel.allCases)
        return StructureRecord(
            dataset: pick(Self.datasets), level: level, parents: (0..<level.depth).map { _ in pick(["-", "a/b", "é"]) },
            id: name("s"), name: maybe("a name"), floorIndex: maybe(-1), capacity: maybe(12), geometry: maybe("{}"))
    }

    private mutating func placeChange() -> DurableChange {
        switch Int.random(in: 0..<6, using: &random) {
        case 0:
            return .put(
                CategoryRecord(
                    dataset: pick(Self.datasets),
                    category: Category(
                        id: name("c"), name: pick(["", "é\u{0}"]), parentID: maybe(name("c")), owner: maybe("client"),
                        revision: "1-\(clock)")))
        case 1: return .deletePlace(dataset: pick(Self.datasets), id: name("x"))
        case 2:
            return .put(
                VerificationRecord(
                    dataset: pick(Self.datasets), placeID: name("x"), hour: pick([0, 167]),
                    count: Int.random(in: 1..<9, using: &random)))
        default: return .put(PlaceRecord(dataset: pick(Self.datasets), place: place()))
        }
    }

    private mutating func circumstanceChange() -> DurableChange {
        let dataset = pick(Self.datasets)
        switch Int.random(in: 0..<8, using: &random) {
        case 0...1:
            return .put(
                CircumstanceRecord(
                    dataset: dataset, id: name("w"), owner: "client", expression: "(moving) ; é", trigger: maybe(.departing),
                    name: maybe("n"), tags: texts(), devices: texts(), nearRadius: 10.5, exitMargin: 0,
                    debug: pick([true, false]), isEnabled: pick([true, false]), createdAt: clock, updatedAt: clock,
                    revision: "1-a"))
        case 2: return .deleteCircumstance(dataset: dataset, id: name("w"))
        case 3: return .put(HeldRecord(dataset: dataset, circumstanceID: name("w"), deviceID: name("d")))
        case 4:
            return pick([
                .deleteHeld(HeldRecord(dataset: dataset, circumstanceID: name("w"), deviceID: name("d"))),
                .deletePlaceVisit(dataset: dataset, deviceId: name("d"), placeId: name("x")),
            ])
        case 5:
            let row = VisitRow(
                placeID: name("x"), count: 3, ends: [1, clock], openSince: maybe(clock), level: pick(ThresholdLevel.allCases))
            return .put(PlaceVisitRecord(dataset: dataset, deviceID: name("d"), visits: row))
        case 6:
            let stay = StayRow(latitude: 43.7, longitude: -7.5, since: clock, isMoving: maybe(true), delay: maybe(clock))
            return .put(StayRecord(dataset: dataset, deviceID: name("d"), stay: stay))
        default:
            guard chance() else { return .eventCompleted(number: Int64.random(in: 0...lastMatch + 1, using: &random)) }
            lastMatch += 1
            return .put(
                EventRecord(
                    number: lastMatch, dataset: dataset, id: "i\(lastMatch)", source: random.pick(EventRecord.Source.allCases),
                    sourceID: name("w"), owner: "client", createdAt: clock, body: bytes(30)))
        }
    }

    private mutating func place() -> Place {
        Place(
            id: name("x"), name: maybe("caf\u{E9}"), categoryIDs: texts(), chainID: maybe("Q1"),
            openingHours: maybe("Mo-Fr 09:00-17:00"), timeZone: maybe("Europe/Monaco"),
            holidays: Holidays(
                publicDays: maybe(["2026-12-25"]) ?? [],
                schoolRanges: maybe([.init(first: "2026-07-01", last: "2026-08-31")]) ?? []),
            placerank: maybe(0.1), geometry: geometry(), owner: maybe("client"), revision: "2-\(clock)")
    }

    private mutating func geometry() -> PlaceGeometry {
        let latitude = Double.random(in: -80...80, using: &random)
        let longitude = Double.random(in: -179...179, using: &random)
        let triangle = [(0.0, 0.0), (0.001, 0.0), (0.0, 0.001), (0.0, 0.0)].map {
            Area.Polygon.Vertex(longitude: longitude + $0.0, latitude: latitude + $0.1)
        }
        let polygons = Array(repeating: [triangle], count: pick([1, 2]))
        return maybe(try? PlaceGeometry(polygons: polygons)).flatMap { $0 } ?? .point(latitude: latitude, longitude: longitude)
    }

    private mutating func device() -> DeviceRecord {
        var record = DeviceRecord(
            dataset: pick(Self.datasets), id: name("d"), type: pick(DeviceType.allCases), name: pick(["", "a\u{0}b", "ü"]),
            group: texts(), platform: maybe("ios"), deviceToken: maybe("token"),
            beacon: maybe(BeaconIdentity(proximityUUID: "F7826DA6", major: 65535, minor: 0)), owner: maybe("client"),
            createdAt: clock, updatedAt: clock + 1, revision: "2-\(clock)")
        record.carries = maybe(BeaconIdentity(proximityUUID: "F7826DA6", major: 0, minor: 65535))
        record.ranging = maybe(RangingSettings(n: 1.75, rssiOffset: -3.5, filter: pick(RangingSettings.Filter.allCases)))
        return record
    }

    private mutating func publication() -> PublicationRecord {
        PublicationRecord(
            dataset: pick(Self.datasets), id: name("p"), deviceId: name("d"), topic: "taxi",
            range: pick([1, 5000, 99.9]), duration: pick([1e300, 0.001]), properties: #"{"a":[1,"x"]}"#, owner: maybe("client"),
            createdAt: clock, updatedAt: clock, revision: "1-\(clock)")
    }

    private mutating func subscription() -> SubscriptionRecord {
        var record = SubscriptionRecord(
            dataset: pick(Self.datasets), id: name("s"), deviceId: name("d"), topic: "taxi", range: 10, duration: 60,
            selector: pick(["", "a = 'b'"]), matchTTL: maybe(0), matchDTL: maybe(12.5), excludeSelf: pick([true, false]),
            pushers: texts(), delivery: delivery(), hints: texts(), owner: maybe("client"), createdAt: clock, updatedAt: clock,
            revision: "1-\(clock)")
        record.mode = pick(SubscriptionRecord.Mode.allCases)
        record.exitMargin = pick([0, 10, 12.5])
        record.dwell = pick([0, 0.001, 1e300])
        record.staleAfter = maybe(90.5)
        record.accuracy = pick(SubscriptionRecord.Accuracy.allCases)
        record.floor = pick(SubscriptionRecord.Floor.allCases)
        record.secret = maybe("s3cret \u{0}é")
        record.notification = maybe("{}")
        return record
    }

    private mutating func delivery() -> Delivery {
        var delivery = Delivery()
        delivery.matched = clock
        delivery.delivered = Int64.random(in: 0..<9, using: &random)
        delivery.retried = 1
        delivery.expired = 2
        delivery.dropped = 3
        delivery.lastMatchAt = maybe(clock)
        delivery.lastError = maybe("refused")
        return delivery
    }

    private mutating func pair() -> PairRecord {
        PairRecord(
            dataset: pick(Self.datasets), subscriptionId: name("s"), publicationId: name("p"), lastMatchAt: clock,
            publicationLatitude: maybe(-89.999999999), publicationLongitude: maybe(180),
            subscriptionLatitude: maybe(.random(in: -90...90, using: &random)),
            subscriptionLongitude: 1 / 3)
    }

    private mutating func visit() -> VisitRecord {
        VisitRecord(
            dataset: pick(Self.datasets), subscriptionId: name("s"), publicationId: name("p"),
            id: pick(["v\(clock)", ""]), since: clock, outsideSince: maybe(clock))
    }

    private mutating func match() -> MatchRecord {
        lastMatch += 1
        var record = MatchRecord(
            number: lastMatch, dataset: pick(Self.datasets), id: "m\(lastMatch)", deviceId: name("d"), subscriptionId: name("s"),
            publicationId: name("p"), owner: maybe("client"), createdAt: clock, body: bytes(60),
            pending: pick([true, true, false]), pushers: texts(), secret: maybe("s\u{0}é"))
        record.push = maybe("{}")
        return record
    }

    private mutating func liveState() -> LiveStateRecord {
        lastLive += 1
        return LiveStateRecord(
            dataset: pick(Self.datasets), topic: name("t"), timestamp: clock, receivedAt: clock + 2, number: lastLive,
            payload: maybe(bytes(5000)))
    }

    private mutating func chance() -> Bool { pick([true, false]) }

    private mutating func liveSubscription() -> LiveSubscriptionRecord {
        LiveSubscriptionRecord(
            dataset: pick(Self.datasets), client: pick(["a", "b"]), id: name("l"), criteria: "city/#",
            condition: maybe("a = 'é'"),
            within: maybe(#"{"bbox":[1,2,3,4]}"#), minInterval: pick([0, 86_400_000]), qos: pick([0, 1]),
            snapshot: pick([true, false]), lease: pick([1, 86_400, 0.1]), leaseUntil: clock + 1, createdAt: clock,
            number: lastLive)
    }

    private mutating func monitor() -> BeaconMonitorRecord {
        BeaconMonitorRecord(
            dataset: pick(Self.datasets), client: pick(["a", "b"]), id: name("m"), proximityUUID: "F7826DA6", major: maybe(65535),
            minor: maybe(0), devices: maybe(texts()), createdAt: clock)
    }

    private mutating func reply() -> ReplyRecord {
        ReplyRecord(
            dataset: pick(Self.datasets), client: pick(["a", "b"]), requestId: name("r"),
            at: clock - Int64.random(in: 0..<50, using: &random), body: bytes(40))
    }
}
