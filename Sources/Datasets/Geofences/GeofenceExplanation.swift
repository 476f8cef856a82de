import Geodesy
import Geofencing
import Records
import Wire

// geofence/explain: each rule for one device, in the order in which they are decided.

extension Geofences {
    func explain(_ call: Call) throws(WireError) -> [UInt8] {
        let geofence = try geofence(call)
        let device = try call.device()
        let number = device.reference.index
        enrol(device)
        let visit = engine.visit(of: number, in: geofence.number)
        let fix = engine.fix(of: number)
        var checks: [Explanation.Check] = []
        let record = geofence.record
        checks.append(
            .init("enabled", record.isEnabled, record.isEnabled ? "the geofence is enabled" : "the geofence is disabled"))
        checks.append(deviceCheck(geofence, device))
        checks.append(locationCheck(record.rule, device, fix, call))
        checks.append(floorCheck(engine.fence(geofence.number), fix, record.rule.floor))
        let standing = engine.standing(of: number, in: geofence.number)
        checks.append(accuracyCheck(record.rule, fix, standing, engine.depth(of: geofence.number)))
        var area = areaCheck(geofence, fix, standing, engine.fence(geofence.number)?.area)
        if let visit, let fix, let leaving = leaving(record.rule, visit, fix, standing, at: call.now) { area.detail += leaving }
        checks.append(area)
        checks.append(dwellCheck(record.rule, visit))
        return JSONWriter.object { writer in
            writer.member("inside", visit != nil)
            checks.encode(into: &writer)
        }
    }

    private func deviceCheck(_ geofence: Geofence, _ device: Device) -> Explanation.Check {
        if engine.fence(geofence.number)?.centre == device.reference.index {
            return .init("device", false, "the geofence moves with this device")
        }
        let concerns = geofence.fence.concerns(device.fenceIdentity)
        return .init(
            "device", concerns,
            concerns ? "the geofence is about this device" : "it is not among the devices that the geofence is about")
    }

    private func locationCheck(_ rule: FenceRule, _ device: Device, _ fix: FenceFix?, _ call: Call) -> Explanation.Check {
        guard let fix else { return .init("location", false, "the position of the device is not known") }
        let place =
            call.mayLocate(device)
            ? "\(fix.latitude), \(fix.longitude)"
            : devices.hides(device, from: call.client.name) ? "a private position" : "a position that may not be shown"
        let silence = call.now - fix.heardAt
        guard let stale = rule.staleAfter, silence >= stale, device.record.type != .pin else {
            return .init("location", true, "at \(place)")
        }
        return .init("location", false, "last at \(place), not heard of for \(figure(Double(silence) / 1000, 0)) s")
    }

    private func floorCheck(_ fence: Fence?, _ fix: FenceFix?, _ floor: FenceRule.Floor) -> Explanation.Check {
        guard floor == .same else { return .init("floor", true, "any floor") }
        guard let fence, fence.floor != 0 else { return .init("floor", false, "the floor of the geofence is not known") }
        guard let fix, fix.floor != 0 else { return .init("floor", false, "the floor of the device is not known") }
        return .init("floor", fix.floor == fence.floor, fix.floor == fence.floor ? "the same floor" : "another floor")
    }

    private func accuracyCheck(
        _ rule: FenceRule, _ fix: FenceFix?, _ standing: FenceStanding?, _ depth: Double?
    ) -> Explanation.Check {
        let sent = fix.map { $0.accuracy > 0 ? "\(figure($0.accuracy, 1)) m" : "not sent" } ?? "not known"
        guard standing == .unusable else { return .init("accuracy", true, "\(rule.accuracy.rawValue): the accuracy is \(sent)") }
        let limit = LikelyRule.accuracyMax(depth: depth ?? 0)
        return .init(
            "accuracy", false, "likely: a fix of \(sent) decides nothing here, it takes \(figure(limit, 1)) m or better")
    }

    private func areaCheck(
        _ geofence: Geofence, _ fix: FenceFix?, _ standing: FenceStanding?, _ area: FenceArea?
    ) -> Explanation.Check {
        guard let area else {
            return .init("area", false, geofence.problem ?? "the device that it moves with has no known position")
        }
        guard let fix else { return .init("area", false, "the position of the device is not known") }
        let metres = area.signedMetres(latitude: fix.latitude, longitude: fix.longitude)
        let side = metres <= 0 ? "inside" : "outside"
        let detail = "\(figure(abs(metres), 1)) m \(side) of the edge"
        switch standing {
        case .inside: return .init("area", true, detail)
        case .between: return .init("area", false, "\(detail), which neither begins nor ends a visit")
        default: return .init("area", false, detail)
        }
    }

    /// What ends a visit that the last fix has not ended, as the rest of a sentence; nil where that fix is inside or decides nothing.
    private func leaving(
        _ rule: FenceRule, _ visit: FenceVisit, _ fix: FenceFix, _ standing: FenceStanding?, at now: Int64
    ) -> String? {
        switch standing {
        case .between:
            let metres = rule.metresOfExit(accuracy: fix.accuracy)
            let edge = "\(figure(abs(metres), 1)) m"
            return metres < 0
                ? "; it leaves less than \(edge) inside of the edge" : "; it leaves more than \(edge) outside of the edge"
        case .outside where rule.accuracy == .likely:
            let since = visit.outsideSince.map { "since \(figure(Double(max(0, now - $0)) / 1000, 0)) s" } ?? "now"
            let seconds = LikelyRule.exitMilliseconds / 1000
            return "; outside \(since): it leaves with a fix at least \(seconds) s after the first one outside"
        default: return nil
        }
    }

    private func dwellCheck(_ rule: FenceRule, _ visit: FenceVisit?) -> Explanation.Check {
        guard rule.dwell > 0 else { return .init("dwell", true, "no dwelling is asked for") }
        let seconds = figure(Double(rule.dwell) / 1000, 0)
        guard let visit else { return .init("dwell", false, "\(seconds) s are asked for, and it is not inside") }
        return .init(
            "dwell", visit.hasDwelled, "\(visit.hasDwelled ? "more" : "not yet more") than \(seconds) s since \(visit.since)")
    }

    private func figure(_ value: Double, _ decimals: Int) -> String { FigureText.decimal(value, decimals) }
}
