/// How sure it is that a device is at a place; the raw values are the names on the wire.
public enum Threshold: String, Sendable, CaseIterable, Comparable {
    /// Near at most.
    case none
    /// Most likely at the place.
    case low
    /// Certainly at the place.
    case high

    private var rank: Int {
        switch self {
        case .none: 0
        case .low: 1
        case .high: 2
        }
    }

    public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }

    /// How far from a point or an edge a device may be to be at least ``low``, in metres: its accuracy, but 50…100.
    ///
    /// - Parameter accuracy: Metres; nil, negative or not a number: not known.
    public static func reach(accuracy: Double?) -> Double {
        guard let accuracy, accuracy > 50 else { return 50 }
        return min(accuracy, 100)
    }

    /// The farthest from a point to be ``high``, in metres.
    static let pointReach = 20.0
    /// The largest accuracy (metres) with which a device may be ``high``.
    static let accuracyMax = 25.0
    /// Another place within so many metres of a place leaves it ``low`` at most.
    static let rivalReach = 15.0
}

extension PlaceTable {
    /// How sure it is that a device is at a place it is near.
    ///
    /// ``Threshold/high``: inside its polygons, or at most 20 m from its point, with an accuracy of at most 25 m, or none known,
    /// and no other place within 15 m of the place, whatever that is: one inside or around its polygons counts too.
    /// ``Threshold/low``: inside, or at most ``Threshold/reach(accuracy:)`` from the point or the edge.
    ///
    /// - Parameters:
    ///   - hit: The place, found by ``near(latitude:longitude:radius:_:)`` where the device is.
    ///   - accuracy: Of the device, in metres; nil, negative or not a number: not known.
    public func threshold(_ hit: Hit, accuracy: Double?) -> Threshold {
        guard hit.isInside || hit.distance <= Threshold.reach(accuracy: accuracy) else { return .none }
        let isClose = hit.isInside || !isPolygon(hit.handle) && hit.distance <= Threshold.pointReach
        // A comparison with what is not a number is false.
        guard isClose, !((accuracy ?? 0) > Threshold.accuracyMax) else { return .low }
        return hasRival(hit.handle) ? .low : .high
    }

    /// Whether another place is within 15 m of a place: of its point or its edge, or inside, or around it.
    public func hasRival(_ handle: Handle) -> Bool {
        if let known = rivals.answer(handle, generation) { return known }
        let answer = footprint(of: handle).map { hasRival(handle, $0) } ?? hasRivalOfPoint(handle)
        rivals.remember(answer, of: handle, generation, count: count)
        return answer
    }

    private func hasRivalOfPoint(_ handle: Handle) -> Bool {
        var isAlone = true
        search(latitude: records[handle].latitude, longitude: records[handle].longitude, radius: Threshold.rivalReach) { hit in
            isAlone = hit.handle == handle
            return isAlone
        }
        return !isAlone
    }

    private func hasRival(_ handle: Handle, _ footprint: Footprint) -> Bool {
        if vast.contains(where: { $0 != handle && isRival($0, of: footprint) }) { return true }
        let reach = footprint.reach + Threshold.rivalReach
        var found = false
        let curvature = CellSpan.curvature(at: footprint.middle)
        for level in cells.levels where !found {
            let span = CellSpan(
                latitude: footprint.latitude, longitude: footprint.longitude, curvature: curvature,
                reach: reach + (level == 0 ? 0.01 : CellShape.reach(level) + 0.03))
            cells.forEachCell(level, in: span) { cell in
                found = cells.entries(of: cell).contains {
                    let other = self.handle(of: $0, level)
                    return other != handle && isRival(other, of: footprint)
                }
                return !found
            }
        }
        return found
    }

    private func isRival(_ other: Handle, of footprint: Footprint) -> Bool {
        let reach = Threshold.rivalReach
        if let outline = self.footprint(of: other) { return footprint.isWithin(reach, of: outline) }
        return footprint.isWithin(reach, ofLatitude: records[other].latitude, longitude: records[other].longitude)
    }
}
