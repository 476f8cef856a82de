import Geodesy

// What a fix says about a fence, decided by what costs least. The same as ``FenceRule/standing(of:in:depth:)``.
extension GeofenceEngine {
    /// Whether a fix begins a visit, its floor aside.
    mutating func isInside(_ number: Int32, _ core: FenceCore, _ fix: FenceFix, _ point: ECEF) -> Bool {
        switch core.accuracy {
        case .centre: return contains(number, core, fix, point)
        case .likely:
            guard isUsable(number, fix) else { return false }
            return fix.accuracy > 0 ? isWellInside(number, core, fix, point) : contains(number, core, fix, point)
        case .possible, .certain: return exactly(number, fix) == .inside
        }
    }

    /// Whether a fix speaks for the end of a visit, its floor aside: inside and between are the same here.
    mutating func leaving(_ number: Int32, _ core: FenceCore, _ fix: FenceFix, _ point: ECEF) -> FenceStanding {
        switch core.accuracy {
        case .centre: return isBeyond(core.exitMetres(fix), number, core, fix, point) ? .outside : .between
        case .likely:
            guard isUsable(number, fix) else { return .unusable }
            return isBeyond(core.exitMetres(fix), number, core, fix, point) ? .outside : .between
        case .possible, .certain: return exactly(number, fix)
        }
    }

    /// Asks for the memory of a polygon where its core does not say whether a fix begins or ends a visit.
    @inline(__always)
    func prefetchFan(of number: Int32, _ device: UInt32, _ fix: FenceFix, _ point: ECEF) {
        guard let core = fences.core(number), let fan = core.fan else { return }
        let isVisited = visits[Int(device)].contains { $0.fence == number }
        let isDecided = isVisited ? core.isBeyond(core.exitMetres(fix), point) : core.isInside(by: core.entryMetres(fix), point)
        if isDecided == nil { fan.prefetch(towards: core.direction(to: point)) }
    }

    private mutating func exactly(_ number: Int32, _ fix: FenceFix) -> FenceStanding {
        guard let fence = fences[number], let area = fence.area else { return .unusable }
        return fence.rule.standing(of: fix, in: area) { depth(of: number, area) }
    }

    private mutating func isUsable(_ number: Int32, _ fix: FenceFix) -> Bool {
        fix.accuracy <= LikelyRule.accuracyMetres || fix.accuracy <= LikelyRule.accuracyMax(depth: depthOfArea(number))
    }

    private mutating func depthOfArea(_ number: Int32) -> Double { fences.area(of: number).map { depth(of: number, $0) } ?? 0 }

    @inline(__always)
    private func contains(_ number: Int32, _ core: FenceCore, _ fix: FenceFix, _ point: ECEF) -> Bool {
        if let isInside = core.isInside(by: 0, point) { return isInside }
        if let fan = core.fan { return fan.contains(fan.polar(latitude: fix.latitude, longitude: fix.longitude)) }
        return fences.shape(of: number)?.area.contains(latitude: fix.latitude, longitude: fix.longitude) ?? false
    }

    @inline(__always)
    private func isBeyond(
        _ metres: Double, _ number: Int32, _ core: FenceCore, _ fix: FenceFix, _ point: ECEF
    ) -> Bool {
        if let isBeyond = core.isBeyond(metres, point) { return isBeyond }
        if let fan = core.fan,
            let isBeyond = fan.isBeyond(metres, fan.polar(latitude: fix.latitude, longitude: fix.longitude))
        {
            return isBeyond
        }
        guard let area = fences.area(of: number) else { return true }
        return area.isBeyond(metres, latitude: fix.latitude, longitude: fix.longitude)
    }

    /// Whether a fix lies as far inside as an entry has to.
    private mutating func isWellInside(_ number: Int32, _ core: FenceCore, _ fix: FenceFix, _ point: ECEF) -> Bool {
        if core.isCircle {
            return core.isInside(by: LikelyRule.entryMargin(accuracy: fix.accuracy, depth: core.outer), point) == true
        }
        if isInside(by: core.entryMetres(fix), number, core, fix, point) { return true }
        // Where it is as deep as the accuracy, that was all.
        guard core.inner < fix.accuracy, contains(number, core, fix, point), let area = fences.shape(of: number)?.area,
            area.leastDepth < fix.accuracy
        else { return false }
        let margin = LikelyRule.entryMargin(accuracy: fix.accuracy, depth: depth(of: number, area))
        return area.isInside(by: margin, latitude: fix.latitude, longitude: fix.longitude)
    }

    @inline(__always)
    private func isInside(
        by metres: Double, _ number: Int32, _ core: FenceCore, _ fix: FenceFix, _ point: ECEF
    ) -> Bool {
        if let isInside = core.isInside(by: metres, point) { return isInside }
        if let fan = core.fan,
            let isInside = fan.isInside(by: metres, fan.polar(latitude: fix.latitude, longitude: fix.longitude))
        {
            return isInside
        }
        return fences.shape(of: number)?.area.isInside(by: metres, latitude: fix.latitude, longitude: fix.longitude) ?? false
    }
}
