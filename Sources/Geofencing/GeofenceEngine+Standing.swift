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
        case .centre: return isBeyond(core.exitMargin, number, core, fix, point) ? .outside : .between
        case .likely:
            guard isUsable(number, fix) else { return .unusable }
            let margin = LikelyRule.exitMargin(accuracy: fix.accuracy, core.exitMargin)
            return isBeyond(margin, number, core, fix, point) ? .outside : .between
        case .possible, .certain: return exactly(number, fix)
        }
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
        switch core.shape {
        case .circle(let centre, let radius):
            centre.squaredChord(to: point) <= FenceCore.squaredChord(ofArc: radius)
        case .polygon(let polygon):
            fences.outline(of: polygon).contains(latitude: fix.latitude, longitude: fix.longitude)
        case .other:
            fences.shape(of: number)?.area.contains(latitude: fix.latitude, longitude: fix.longitude) ?? false
        }
    }

    @inline(__always)
    private func isBeyond(
        _ metres: Double, _ number: Int32, _ core: FenceCore, _ fix: FenceFix, _ point: ECEF
    ) -> Bool {
        let metres = max(0, metres)
        switch core.shape {
        case .circle(let centre, let radius):
            if radius + metres <= FenceCore.arcMax {
                return centre.squaredChord(to: point) > FenceCore.squaredChord(ofArc: radius + metres)
            }
        case .polygon(let polygon):
            let outline = fences.outline(of: polygon)
            if let isBeyond = outline.isBeyond(metres, latitude: fix.latitude, longitude: fix.longitude) { return isBeyond }
            if polygon.plane.isFar(metres, point) { return true }
        case .other: break
        }
        guard let area = fences.area(of: number) else { return true }
        return area.isBeyond(metres, latitude: fix.latitude, longitude: fix.longitude)
    }

    /// Whether a fix lies as far inside as an entry has to.
    @inline(__always)
    private mutating func isWellInside(_ number: Int32, _ core: FenceCore, _ fix: FenceFix, _ point: ECEF) -> Bool {
        switch core.shape {
        case .circle(let centre, let radius):
            let margin = LikelyRule.entryMargin(accuracy: fix.accuracy, depth: radius)
            return centre.squaredChord(to: point) <= FenceCore.squaredChord(ofArc: radius - margin)
        case .polygon(let polygon):
            let outline = fences.outline(of: polygon)
            if let isInside = outline.isInside(by: fix.accuracy / 2, latitude: fix.latitude, longitude: fix.longitude) {
                // Where it is as deep as the accuracy, that was all.
                if isInside || polygon.plane.leastDepth >= fix.accuracy { return isInside }
                guard outline.contains(latitude: fix.latitude, longitude: fix.longitude) else { return false }
            }
        case .other: break
        }
        return isWellInside(number, fix)
    }

    private mutating func isWellInside(_ number: Int32, _ fix: FenceFix) -> Bool {
        guard let area = fences.shape(of: number)?.area else { return false }
        if area.isInside(by: fix.accuracy / 2, latitude: fix.latitude, longitude: fix.longitude) { return true }
        guard area.leastDepth < fix.accuracy, area.contains(latitude: fix.latitude, longitude: fix.longitude) else {
            return false
        }
        let margin = LikelyRule.entryMargin(accuracy: fix.accuracy, depth: depth(of: number, area))
        return area.isInside(by: margin, latitude: fix.latitude, longitude: fix.longitude)
    }
}
