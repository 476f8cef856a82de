// Which places a device has been at.

extension CircumstanceEngine {
    /// - Parameter isMove: The cause is a fix, so that a visit that is over ended with the fix before.
    func updateVisits(
        of device: UInt32, isMove: Bool, _ region: inout SafeRegion, in world: some CircumstanceWorld,
        into effects: inout [CircumstanceEffect]
    ) {
        let index = Int(device)
        let isLongStay = isLongStay(index)
        guard tracks[index].hasOpenVisits || isLongStay || !uses.visits.isEmpty else { return }
        histories[device]?.findPlaces(epoch: placeEpoch, in: world)
        if tracks[index].hasOpenVisits {
            followVisits(
                of: device, lastThere: isMove ? tracks[index].previousTimestamp : tracks[index].timestamp, &region,
                in: world, into: &effects)
        }
        if isLongStay { tracks[index].isStayRecorded = true }
        guard isLongStay || !uses.visits.isEmpty else { return }
        let reach = PlaceReach.at(accuracy: tracks[index].sentAccuracy)
        let foresight = uses.visits.isEmpty ? 0 : Self.visitForesight
        var places: [NearbyPlace] = []
        world.places(
            latitude: tracks[index].latitude, longitude: tracks[index].longitude, radius: reach + foresight, into: &places)
        if !uses.visits.isEmpty { region.limit(foresight) }
        for place in uses.visits.isEmpty ? nearest(places) : places {
            let isAskedFor = isAskedFor(place.place, in: world)
            if place.distance > reach {
                if isAskedFor { region.limit(place.distance - reach) }
            } else if isLongStay || isAskedFor {
                beginVisit(of: device, place, &region, in: world, into: &effects)
            }
        }
    }

    private func isLongStay(_ index: Int) -> Bool {
        !tracks[index].isStayRecorded && tracks[index].since != .min
            && tracks[index].timestamp - tracks[index].since >= Self.stayMilliseconds
    }

    /// Where nobody asks for visits, only those to the nearest places are kept: a town square is near dozens.
    private func nearest(_ places: [NearbyPlace]) -> [NearbyPlace] {
        var sorted = places
        sorted.sortByDistance()
        return Array(sorted.prefix(Self.stayPlacesMax))
    }

    /// Whether an expression asks for visits to it.
    func isAskedFor(_ place: UInt32, in world: some CircumstanceWorld) -> Bool {
        if uses.visits[PredicateTable.any] != nil { return true }
        guard !uses.visits.isEmpty else { return false }
        var isAsked = false
        memory.forEachPredicate(of: place, in: world) { if uses.visits[$0] != nil { isAsked = true } }
        return isAsked
    }

    private func beginVisit(
        of device: UInt32, _ place: NearbyPlace, _ region: inout SafeRegion, in world: some CircumstanceWorld,
        into effects: inout [CircumstanceEffect]
    ) {
        let (accuracy, now) = (tracks[Int(device)].sentAccuracy, tracks[Int(device)].timestamp)
        let id = world.facts(of: place.place).id
        var history = histories.removeValue(forKey: device) ?? VisitHistory()
        defer { histories[device] = history }
        history.findPlaces(epoch: placeEpoch, in: world)
        let level = world.threshold(of: place.place, distance: place.distance, accuracy: accuracy)
        if let row = history.index(of: id) {
            guard history.rows[row].openSince == nil else { return }
            history.rows[row].openSince = now
            history.rows[row].level = max(history.rows[row].level, level, .low)
            effects.append(.visit(device: device, history.rows[row]))
        } else {
            if history.rows.count >= VisitHistory.placesMax {
                guard let forgotten = history.removeOldest() else { return }
                effects.append(.visitForgotten(device: device, placeID: forgotten.placeID))
            }
            history.append(VisitRow(placeID: id, openSince: now, level: max(level, .low)), place: place.place)
            effects.append(.visit(device: device, history.rows[history.rows.count - 1]))
        }
        tracks[Int(device)].hasOpenVisits = true
        region.limit(visitSlack(place, accuracy, isHigh: level == .high))
    }

    /// Ends the visits to places that the device has left.
    private func followVisits(
        of device: UInt32, lastThere: Int64, _ region: inout SafeRegion, in world: some CircumstanceWorld,
        into effects: inout [CircumstanceEffect]
    ) {
        let fix = tracks[Int(device)].fix
        let reach = PlaceReach.at(accuracy: fix.accuracy) + PlaceReach.visitMargin
        guard var history = histories.removeValue(forKey: device) else { return }
        var isOpen = false
        for row in history.rows.indices where history.rows[row].openSince != nil {
            guard let number = history.places[row],
                let distance = world.distance(of: number, latitude: fix.latitude, longitude: fix.longitude),
                distance <= reach
            else {
                history.rows[row].end(at: lastThere)
                effects.append(.visit(device: device, history.rows[row]))
                continue
            }
            isOpen = true
            let place = NearbyPlace(place: number, distance: distance)
            let level = world.threshold(of: number, distance: distance, accuracy: fix.accuracy)
            if level > history.rows[row].level {
                history.rows[row].level = level
                effects.append(.visit(device: device, history.rows[row]))
            }
            region.limit(visitSlack(place, fix.accuracy, isHigh: history.rows[row].level == .high))
        }
        histories[device] = history
        tracks[Int(device)].hasOpenVisits = isOpen
    }

    /// How far the device can go before the visit may end or be surer.
    private func visitSlack(_ place: NearbyPlace, _ accuracy: Double?, isHigh: Bool) -> Double {
        let leaving = PlaceReach.at(accuracy: accuracy) + PlaceReach.visitMargin - place.distance
        return isHigh || place.distance == 0 || uses.visitLevels == 0
            ? leaving : min(leaving, place.distance, abs(place.distance - PlaceReach.high))
    }

    /// The device has no position.
    func closeVisits(of device: UInt32, into effects: inout [CircumstanceEffect]) {
        guard tracks[Int(device)].hasOpenVisits, var history = histories.removeValue(forKey: device) else { return }
        for row in history.rows.indices where history.rows[row].openSince != nil {
            history.rows[row].end(at: tracks[Int(device)].timestamp)
            effects.append(.visit(device: device, history.rows[row]))
        }
        histories[device] = history
        tracks[Int(device)].hasOpenVisits = false
    }
}

extension VisitRow {
    mutating func end(at instant: Int64) {
        openSince = nil
        count += 1
        ends.append(instant)
        if ends.count > VisitHistory.endsMax { ends.removeFirst(ends.count - VisitHistory.endsMax) }
    }
}

extension VisitHistory {
    /// The row of the place left longest ago; nil when the device is still at all of them.
    mutating func removeOldest() -> VisitRow? {
        var oldest: Int?
        for row in rows.indices where rows[row].openSince == nil {
            if let known = oldest, rows[known].ends.last ?? .min <= rows[row].ends.last ?? .min { continue }
            oldest = row
        }
        return oldest.map { remove(at: $0) }
    }
}
