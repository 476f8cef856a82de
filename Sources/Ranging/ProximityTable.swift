/// Which beacons the observers of a dataset see, and how far they are.
///
/// A fact, one beacon at one observer, lives for ``factMilliseconds`` since its latest sighting. Observers and beacons are dense numbers of
/// the caller's. Lists are kept in the order in which facts began; time is the caller's, too.
public final class ProximityTable {
    /// How long a fact lives.
    public static let factMilliseconds: Int64 = 90_000

    // No method is called while another one changes these, and asking at run time whether that is so costs a tenth of a sighting.
    @exclusivity(unchecked) var memory = FactMemory()
    @exclusivity(unchecked) var index = FactIndex()
    @exclusivity(unchecked) var firstOfObserver: [UInt32] = []
    @exclusivity(unchecked) var firstOfBeacon: [UInt32] = []
    @exclusivity(unchecked) var countOfObserver: [UInt32] = []
    /// Facts by the second in which they are over, as many seconds as a fact lives and some more.
    @exclusivity(unchecked) var seconds = [UInt32](repeating: none, count: 128)
    /// The last second whose list was looked at.
    private var expiredThrough: Int64 = .min

    public init() {}

    deinit { memory.deallocate() }

    public var count: Int { index.count }

    /// Bytes it holds, used or not.
    public var memoryBytes: Int {
        memory.bytes + index.bytes + (firstOfObserver.capacity + firstOfBeacon.capacity + countOfObserver.capacity) * 4 + 512
    }

    /// What is known of a beacon at an observer.
    public struct Fact: Equatable, Sendable {
        public var observer: UInt32
        public var beacon: UInt32
        /// Metres; nil: nothing was measured yet.
        public var distance: Double?
        public var band: ProximityBand
        /// dBm as received last.
        public var rssi: Double?
        /// Milliseconds since 1970 UTC.
        public var seenAt: Int64

        public init(observer: UInt32, beacon: UInt32, distance: Double?, band: ProximityBand, rssi: Double?, seenAt: Int64) {
            self.observer = observer
            self.beacon = beacon
            self.distance = distance
            self.band = band
            self.rssi = rssi
            self.seenAt = seenAt
        }
    }

    /// What a sighting came to.
    public enum Outcome: Equatable, Sendable {
        case began(Fact)
        case changed(Fact)
        /// It is older than what is known, or than a fact lives.
        case late
        /// The observer sees as many beacons as it may.
        case full
    }

    // MARK: Sightings

    /// - Parameters:
    ///   - seenAt: When it was seen: not later than `now`.
    ///   - maximum: Beacons one observer sees at most.
    public func take(
        _ sighting: Sighting, by observer: UInt32, of beacon: UInt32, _ settings: RangingSettings, seenAt: Int64, at now: Int64,
        maximum: Int
    ) -> Outcome {
        guard now - seenAt < Self.factMilliseconds else { return .late }
        reach(observer, beacon)
        if let known = index.find(observer, beacon, in: memory.facts) {
            // After a clock was set back, what it said before does not make everything late.
            guard seenAt >= min(memory.facts[Int(known)].seenAt, now) else { return .late }
            leaveSecond(known)
            read(sighting, known, settings, at: seenAt)
            enterSecond(known)
            return .changed(fact(known))
        }
        guard Int(countOfObserver[Int(observer)]) < maximum else { return .full }
        let new = memory.take(ProximityFact(observer: observer, beacon: beacon, seenAt: seenAt))
        index.insert(new, in: memory.facts)
        link(new)
        read(sighting, new, settings, at: seenAt)
        enterSecond(new)
        return .began(fact(new))
    }

    private func read(_ sighting: Sighting, _ number: UInt32, _ settings: RangingSettings, at instant: Int64) {
        let fact = memory.facts.pointer(Int(number))
        let readings = memory.readings(of: number)
        let readAt = fact.pointee.readAt
        if let rssi = sighting.rssi, rssi != 0 { fact.pointee.rssi = Float(rssi) }
        let measure = sighting.measure
        let loss: Double
        switch measure {
        case .nothing:
            fact.pointee.see(at: instant, reads: false)
            return
        case .metres(let metres):
            loss = PathLoss.loss(distance: metres, n: settings.n)
            fact.pointee.distance = metres
            fact.pointee.band = fact.pointee.band.next(at: metres)
        case .band(let band, let metres):
            loss = PathLoss.loss(distance: metres, n: settings.n)
            fact.pointee.distance = metres
            fact.pointee.band = band
        case .loss(let raw): loss = raw - settings.rssiOffset
        }
        fact.pointee.see(at: instant, reads: true)
        fact.pointee.history.add(loss: loss, at: instant, after: readAt, in: readings)
        guard case .loss = measure else { return }
        fact.pointee.kalman.take(loss, after: readAt.map { instant - $0 } ?? 0)
        let smooth =
            switch settings.filter {
            case .none: loss
            case .kalman: Double(fact.pointee.kalman.level)
            case .trimmedMean:
                fact.pointee.history.trimmedMean(over: SignalHistory.window, at: instant, latest: instant, in: readings) ?? loss
            }
        let metres = PathLoss.distance(loss: smooth, n: settings.n)
        fact.pointee.distance = metres
        fact.pointee.band = fact.pointee.band.next(at: metres)
    }

    /// So many readings stand for those before a restart: with as many the first new one, if it strays, is cut from the mean.
    private static let restoredReadings = 5

    /// Gives a fact back after a restart. Nothing happens where it is over, or known.
    ///
    /// Of its readings only what they came to is known: some at the distance of then stand for them, so that it changes as slowly as it
    /// would have, and are over as the others would be.
    public func restore(_ fact: Fact, _ settings: RangingSettings, at now: Int64) -> Bool {
        guard now - fact.seenAt < Self.factMilliseconds else { return false }
        reach(fact.observer, fact.beacon)
        guard index.find(fact.observer, fact.beacon, in: memory.facts) == nil else { return false }
        var known = ProximityFact(observer: fact.observer, beacon: fact.beacon, seenAt: fact.seenAt)
        known.distance = fact.distance ?? -1
        known.band = fact.band
        known.rssi = fact.rssi.map(Float.init) ?? .nan
        let number = memory.take(known)
        index.insert(number, in: memory.facts)
        link(number)
        enterSecond(number)
        if let distance = fact.distance { restoreReadings(of: number, distance, settings) }
        return true
    }

    private func restoreReadings(of number: UInt32, _ distance: Double, _ settings: RangingSettings) {
        let fact = memory.facts.pointer(Int(number))
        let instant = fact.pointee.seenAt
        let loss = PathLoss.loss(distance: distance, n: settings.n)
        fact.pointee.see(at: instant, reads: true)
        for _ in 0..<Self.restoredReadings {
            fact.pointee.history.add(loss: loss, at: instant, after: instant, in: memory.readings(of: number))
            fact.pointee.kalman.take(loss, after: 0)
        }
    }

    // MARK: Reading

    /// What an observer knows of a beacon; nil: it does not see it.
    public func fact(of observer: UInt32, _ beacon: UInt32) -> Fact? {
        index.find(observer, beacon, in: memory.facts).map(fact)
    }

    /// How many beacons an observer sees.
    public func count(of observer: UInt32) -> Int {
        Int(observer) < countOfObserver.count ? Int(countOfObserver[Int(observer)]) : 0
    }

    /// The beacons an observer sees, in no order a caller could know.
    public func facts(of observer: UInt32) -> [Fact] {
        guard Int(observer) < firstOfObserver.count else { return [] }
        var found: [Fact] = []
        var number = firstOfObserver[Int(observer)]
        while number != none {
            found.append(fact(number))
            number = memory.facts[Int(number)].ofObserver.next
        }
        return found
    }

    /// Who sees a beacon, in no order a caller could know.
    public func facts(ofBeacon beacon: UInt32) -> [Fact] {
        guard Int(beacon) < firstOfBeacon.count else { return [] }
        var found: [Fact] = []
        var number = firstOfBeacon[Int(beacon)]
        while number != none {
            found.append(fact(number))
            number = memory.facts[Int(number)].ofBeacon.next
        }
        return found
    }

    /// The mean of an observer's readings of a beacon over the last so many milliseconds, in dB below the power at 1 m; nil: it has none.
    public func loss(at observer: UInt32, of beacon: UInt32, over milliseconds: Int64, at now: Int64) -> Double? {
        guard let number = index.find(observer, beacon, in: memory.facts) else { return nil }
        let fact = memory.facts[Int(number)]
        guard let readAt = fact.readAt else { return nil }
        return fact.history.trimmedMean(over: milliseconds, at: now, latest: readAt, in: memory.readings(of: number))
    }

    /// The same for where a beacon is by now: where nothing came in that time, over what is known.
    public func recentLoss(
        at observer: UInt32, of beacon: UInt32, over milliseconds: Int64, n: Double, at now: Int64
    ) -> Double? {
        if let loss = loss(at: observer, of: beacon, over: milliseconds, at: now) { return loss }
        guard let fact = fact(of: observer, beacon), now - fact.seenAt <= SignalHistory.window else { return nil }
        return loss(at: observer, of: beacon, over: SignalHistory.window, at: now)
            ?? fact.distance.map { PathLoss.loss(distance: $0, n: n) }
    }

    /// Whether anybody sees a beacon.
    public func isSeen(_ beacon: UInt32) -> Bool {
        Int(beacon) < firstOfBeacon.count && firstOfBeacon[Int(beacon)] != none
    }

    private func fact(_ number: UInt32) -> Fact {
        let fact = memory.facts[Int(number)]
        return Fact(
            observer: fact.observer, beacon: fact.beacon, distance: fact.distance < 0 ? nil : fact.distance, band: fact.band,
            rssi: fact.rssi.isNaN ? nil : Double(fact.rssi), seenAt: fact.seenAt)
    }

    // MARK: Ends

    /// Forgets what was last seen ``factMilliseconds`` ago or before: ordered by observer, then beacon.
    public func expire(at now: Int64) -> [Fact] {
        var over: [UInt32] = []
        // Every list at most once, however long it is since the last time.
        var instant = max(expiredThrough, Self.second(now) - Int64(seconds.count) + 1)
        while instant <= Self.second(now) {
            var number = seconds[Int(instant & 127)]
            while number != none {
                let fact = memory.facts[Int(number)]
                if now - fact.seenAt >= Self.factMilliseconds { over.append(number) }
                number = fact.ofSecond.next
            }
            instant += 1
        }
        expiredThrough = Self.second(now)
        let ended = over.map(fact).sorted { ($0.observer, $0.beacon) < ($1.observer, $1.beacon) }
        for number in over { remove(number) }
        return ended
    }

    /// Forgets an observer's facts: ordered by beacon.
    public func forget(observer: UInt32) -> [Fact] {
        let ended = facts(of: observer).sorted { $0.beacon < $1.beacon }
        for fact in ended {
            if let number = index.find(fact.observer, fact.beacon, in: memory.facts) { remove(number) }
        }
        return ended
    }

    private func remove(_ number: UInt32) {
        leaveSecond(number)
        unlink(number)
        index.remove(number, in: memory.facts)
        memory.release(number)
    }
}
