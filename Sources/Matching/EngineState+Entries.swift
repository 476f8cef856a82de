import Geodesy
import Selectors

// Devices, publications and subscriptions come and go.
extension EngineState {
    mutating func addDevice(isFixed: Bool) -> UInt32 {
        let index = devices.take()
        devices[index] = .fresh
        heard.reach(index)
        heard[index] = Heard(at: isFixed ? .max : .min, fixedAt: .min)
        return index
    }

    /// Removes a device that has no entries any more.
    mutating func removeDevice(_ index: UInt32) {
        if devices[index].isPlaced { accuracies.change(from: devices[index].horizontalAccuracy, to: .nan) }
        sightings.removeAll(of: index)
        devices[index].isAlive = false
        devices.release(index)
        if devices.count == 0 { heard.reset() }
    }

    /// An entry at the head of its device's list, with a lane if the device has a position.
    mutating func add(
        _ side: Side, on device: UInt32, topic: String, range: Double, expiresAt: Int64, program: UInt32, rule: Rule
    ) -> UInt32 {
        let index = side == .publication ? publications.take() : subscriptions.take()
        let next = devices[device].first(side)
        let entry = Entry(
            device: device, next: next, previous: none,
            topic: topics.intern(topic, accuracyAware: !rule.flags.isDisjoint(with: .accuracyAware)), range: gridUnits(range),
            lane: none,
            tile: none, cell: 0, grain: 0, flags: .alive, traits: Entry.hints, expiresAt: expiresAt, firstPair: none, group: 0)
        switch side {
        case .publication: publications[index] = Publication(entry: entry)
        case .subscription: subscriptions[index] = Subscription(entry: entry, program: program)
        }
        write(rule, to: side, index)
        if side == .subscription {
            partners.reach(index)
            partners[index] = 0
        }
        if next != none { self.entry(side, next).pointee.previous = index }
        setFirst(device, side, index)
        if expiresAt != .max {
            deadlinesWanted += 1
            addDeadline(expiresAt, .init(side), index)
        }
        return index
    }

    /// Removes an entry with its pairs.
    mutating func remove(_ side: Side, _ index: UInt32) {
        let entry = entry(side, index)
        while entry.pointee.firstPair != none { unlink(entry.pointee.firstPair) }
        if entry.pointee.lane != none { unplace(side, index) }
        let (next, previous) = (entry.pointee.next, entry.pointee.previous)
        if previous == none {
            setFirst(entry.pointee.device, side, next)
        } else {
            self.entry(side, previous).pointee.next = next
        }
        if next != none { self.entry(side, next).pointee.previous = previous }
        erase(side, index)
        topics.release(entry.pointee.topic)
        if entry.pointee.expiresAt != .max { deadlinesWanted -= 1 }
        entry.pointee.isAlive = false
        if side == .publication {
            properties.deinitialize(index, empty: publications.count == 1)
            publications.release(index)
        } else {
            programs.release(subscriptions[index].program)
            subscriptions.release(index)
            if subscriptions.count == 0 {
                partners.reset()
                visitOptions.reset()
            }
        }
    }

    /// Gives an entry another topic, range, end or rule, and a lane to fit.
    mutating func change(_ side: Side, _ index: UInt32, topic: String, range: Double, expiresAt: Int64, rule: Rule) {
        let entry = entry(side, index)
        let wasPlaced = entry.pointee.lane != none
        if wasPlaced { unplace(side, index) }
        let former = entry.pointee.topic
        erase(side, index)
        entry.pointee.topic = topics.intern(topic, accuracyAware: !rule.flags.isDisjoint(with: .accuracyAware))
        topics.release(former)
        entry.pointee.range = gridUnits(range)
        write(rule, to: side, index)
        if expiresAt != entry.pointee.expiresAt {
            if entry.pointee.expiresAt != .max { deadlinesWanted -= 1 }
            entry.pointee.expiresAt = expiresAt
            if expiresAt != .max {
                deadlinesWanted += 1
                addDeadline(expiresAt, .init(side), index)
            }
        }
        if wasPlaced { place(side, index) }
    }

    private mutating func write(_ rule: Rule, to side: Side, _ index: UInt32) {
        let entry = entry(side, index)
        entry.pointee.flags = rule.flags.union(.alive)
        if rule.flags.contains(.possible) { topics.widen(entry.pointee.topic, by: 1) }
        guard side == .subscription else { return }
        entry.pointee.traits = entry.pointee.traits & 0x7F | (rule.excludesSelf ? 0x80 : 0)
        subscriptions[index].matchTTL = rule.matchTTL
        subscriptions[index].matchDTL = rule.matchDTL
        guard let visit = rule.visit else { return }
        visitOptions.reach(index)
        visitOptions[index] = visit
    }

    /// What an entry's rule left behind, before it gets another one or goes.
    private func erase(_ side: Side, _ index: UInt32) {
        let entry = entry(side, index)
        if entry.pointee.flags.contains(.possible) { topics.widen(entry.pointee.topic, by: -1) }
    }

    func entries(_ side: Side, of device: UInt32) -> [UInt32] {
        var found: [UInt32] = []
        var index = devices[device].first(side)
        while index != none {
            found.append(index)
            index = entry(side, index).pointee.next
        }
        return found.sorted()
    }

    private func setFirst(_ device: UInt32, _ side: Side, _ index: UInt32) {
        if side == .publication { devices[device].firstPublication = index } else { devices[device].firstSubscription = index }
    }
}

/// A range in whole grid units, held between 0 and what the grid's coarsest level can hold.
func gridUnits(_ metres: Double) -> Int32 {
    let units = (metres * GridPoint.unitsPerMetre).rounded()
    return units > 0 ? Int32(min(units, Double(Grid.longestRange))) : 0
}
