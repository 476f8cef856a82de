import Ranging
import Records
import Wire

// From the sightings of observers to facts, and to what follows from them.

extension Beacons {
    /// What became of the sightings of one message.
    struct Tally {
        var taken = 0
        var skewed = 0
        /// Over the maximum of its observer.
        var full = 0
        /// The latest of those that were late.
        var latest: Int64 = .min
    }

    /// - Throws: Where it sends more sightings than it may; it is charged for none of them then.
    func charge(_ observer: Observer, for count: Int, at now: Int64) throws(WireError) {
        guard !observer.spend(count, at: now, rate: limits.sightingsPerSecond) else { return }
        throw WireError(
            .limit, "`\(observer.id)` reports more than \(limits.sightingsPerSecond) sightings a second", field: "sightings")
    }

    /// Takes the sightings of one message.
    ///
    /// Of each beacon the newest sighting counts; one that lies in the future was seen now.
    ///
    /// - Parameter timestamp: Of the message; nil: it names none.
    func receive(
        _ sightings: [Sighting], at timestamp: Int64?, by observer: Observer, now: Int64, into effects: inout [BeaconEffect]
    ) -> Tally {
        var tally = Tally()
        for sighting in Self.inOrder(sightings, at: timestamp ?? now) {
            receive(sighting, at: sighting.timestamp ?? timestamp ?? now, by: observer, now, &tally, &effects)
        }
        return tally
    }

    /// The sightings of a message as they were made, in whatever order it has them; those of one instant as they come.
    private static func inOrder(_ sightings: [Sighting], at timestamp: Int64) -> [Sighting] {
        func instant(_ sighting: Sighting) -> Int64 { sighting.timestamp ?? timestamp }
        guard zip(sightings, sightings.dropFirst()).contains(where: { instant($0) > instant($1) }) else { return sightings }
        return sightings.enumerated().sorted { (instant($0.element), $0.offset) < (instant($1.element), $1.offset) }.map(
            \.element)
    }

    private func receive(
        _ sighting: Sighting, at stated: Int64, by observer: Observer, _ now: Int64, _ tally: inout Tally,
        _ effects: inout [BeaconEffect]
    ) {
        let isSkewed = stated > now + LiveBook.skewMaximumMilliseconds
        if isSkewed { tally.skewed += 1 }
        let seenAt = min(stated, now)
        let number = number(of: sighting.beacon)
        let outcome = table.take(
            sighting, by: observer.number, of: number, settings(of: observer), seenAt: seenAt, at: now,
            maximum: table.count < limits.beaconsInSight ? limits.beaconsPerObserver : 0)
        switch outcome {
        case .began(let fact), .changed(let fact):
            tally.taken += 1
            if let sighting = self.sighting(fact) { effects.append(.seen(sighting)) }
            enterRegions(sighting.beacon, observer, seenAt: seenAt, at: now, into: &effects)
            noteCarried(sighting.beacon, at: now)
            hearCarried(sighting, by: observer, seenAt: seenAt, at: now)
        case .late:
            tally.latest = max(tally.latest, isSkewed ? now : stated)
            releaseIfUnseen(number)
        case .full:
            tally.full += 1
            releaseIfUnseen(number)
        }
    }

    /// Why a sighting found no room.
    var crowdedError: WireError {
        let who =
            table.count < limits.beaconsInSight
            ? "an observer sees \(limits.beaconsPerObserver)" : "the observers of the dataset see \(limits.beaconsInSight)"
        return WireError(.limit, "\(who) beacons at a time, the maximum", field: "sightings")
    }

    /// What an observer reported on a topic was cleared: it sees nothing.
    func clear(_ state: LiveState, at now: Int64, into effects: inout [BeaconEffect]) {
        guard let observer = knownObserver(of: state), observer.state === state else { return }
        for fact in table.forget(observer: observer.number) { end(fact, at: now, into: &effects) }
        forget(observer)
    }

    /// Ends facts whose time is over.
    func expire(at now: Int64, into effects: inout [BeaconEffect]) {
        guard table.count > 0 else { return }
        for fact in table.expire(at: now) {
            end(fact, at: now, into: &effects)
            if let observer = observer(fact.observer) { note(observer) }
        }
    }

    private func end(_ fact: ProximityTable.Fact, at now: Int64, into effects: inout [BeaconEffect]) {
        noteCarried(beacon(fact.beacon), at: now)
        if let lost = sighting(fact) { effects.append(.lost(beacon: lost.beacon, observer: lost.observer)) }
        releaseIfUnseen(fact.beacon)
    }

    // MARK: The live message

    /// Writes the properties of an observer's live message: its beacons, nearest first, those at an unknown distance last. It counts as
    /// sent now.
    ///
    /// - Parameter extras: Further members, each behind a comma.
    /// - Returns: When it last saw one of them.
    func encode(_ observer: Observer, extras: [UInt8], at now: Int64, into writer: inout JSONWriter) -> Int64? {
        let facts = table.facts(of: observer.number).sorted {
            let (a, b) = ($0.distance ?? .infinity, $1.distance ?? .infinity)
            return a != b ? a < b : beacon($0.beacon) < beacon($1.beacon)
        }
        observer.reportedAt = now
        observer.isBehind = false
        writer.beginObject()
        writer.key("beacons")
        writer.beginArray()
        for fact in facts { encode(fact, at: now, into: &writer) }
        writer.endArray()
        writer.bytes.append(contentsOf: extras)
        writer.endObject()
        return facts.map(\.seenAt).max()
    }

    private func encode(_ fact: ProximityTable.Fact, at now: Int64, into writer: inout JSONWriter) {
        let beacon = beacon(fact.beacon)
        writer.beginObject()
        if let device = holders[beacon] { writer.member("deviceId", device) }
        writer.member("proximityUUID", beacon.proximityUUID)
        writer.member("major", Int(beacon.major))
        writer.member("minor", Int(beacon.minor))
        if let distance = fact.distance { writer.member("distance", (distance * 1000).rounded() / 1000) }
        writer.member("proximity", fact.band.name)
        if let rssi = fact.rssi { writer.member("rssi", (rssi * 100).rounded() / 100) }
        writer.member("age", Double(max(0, now - fact.seenAt)) / 1000)
        writer.endObject()
    }

    /// Whether its live message may be sent now: a long list is sent at most so often, as another sighting comes soon.
    func mayReport(_ observer: Observer, at now: Int64) -> Bool {
        table.count(of: observer.number) <= Self.longList || observer.mayReport(at: now)
    }

    private static let longList = 16
}
