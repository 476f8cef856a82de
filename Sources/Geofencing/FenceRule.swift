import Geodesy

/// When a device has entered a geofence, and when it has left.
public struct FenceRule: Equatable, Sendable {
    /// What the accuracy of a fix does.
    public enum Accuracy: String, Sendable, CaseIterable {
        case centre, possible, certain, likely
    }

    public enum Floor: String, Sendable, CaseIterable {
        case any, same
    }

    public var accuracy: Accuracy
    public var floor: Floor
    /// Metres beyond the edge at which a visit ends.
    public var exitMargin: Double
    /// Milliseconds after which a visit is one of dwelling; 0: never.
    public var dwell: Int64
    /// Milliseconds after which a device that is not heard of has left; nil: never.
    public var staleAfter: Int64?

    public init(
        accuracy: Accuracy = .likely, floor: Floor = .any, exitMargin: Double = 10, dwell: Int64 = 0, staleAfter: Int64? = nil
    ) {
        self.accuracy = accuracy
        self.floor = floor
        self.exitMargin = exitMargin
        self.dwell = dwell
        self.staleAfter = staleAfter
    }
}

/// Where a device is, as one fix says.
public struct FenceFix: Equatable, Sendable {
    /// Degrees.
    public var latitude, longitude: Double
    /// Metres; 0 where it was not sent.
    public var accuracy: Double
    /// When it was there, and when that was received: milliseconds since 1970 UTC.
    public var timestamp, heardAt: Int64
    /// 0: not known.
    public var floor: UInt32

    public init(
        latitude: Double, longitude: Double, accuracy: Double = 0, timestamp: Int64, heardAt: Int64, floor: UInt32 = 0
    ) {
        self.latitude = latitude
        self.longitude = longitude
        self.accuracy = accuracy
        self.timestamp = timestamp
        self.heardAt = heardAt
        self.floor = floor
    }
}

/// What one fix says about one geofence.
public enum FenceStanding: Equatable, Sendable {
    case inside
    /// Neither inside nor far enough outside.
    case between
    case outside
    /// Too coarse to say.
    case unusable
}

extension FenceRule {
    /// What a fix says, floors aside.
    ///
    /// - Parameter depth: Asked for only where it matters: it takes a while.
    public func standing(of fix: FenceFix, in area: FenceArea, depth: () -> Double) -> FenceStanding {
        switch accuracy {
        case .centre:
            if area.contains(latitude: fix.latitude, longitude: fix.longitude) { return .inside }
            return beyond(exitMargin, fix, area)
        case .possible: return shifted(by: -fix.accuracy, fix, area)
        case .certain: return shifted(by: fix.accuracy, fix, area)
        case .likely: return likely(fix, area, depth)
        }
    }

    /// Metres beyond the edge at which a fix with some accuracy speaks for the end of a visit; negative inside of it.
    public func metresOfExit(accuracy metres: Double) -> Double {
        switch accuracy {
        case .centre: exitMargin
        case .possible: exitMargin + metres
        case .certain: exitMargin - metres
        case .likely: LikelyRule.exitMargin(accuracy: metres, exitMargin)
        }
    }

    private func beyond(_ metres: Double, _ fix: FenceFix, _ area: FenceArea) -> FenceStanding {
        guard area.mayReach(latitude: fix.latitude, longitude: fix.longitude, metres: metres) else { return .outside }
        guard metres > 0 else { return .outside }
        return area.signedMetres(latitude: fix.latitude, longitude: fix.longitude) > metres ? .outside : .between
    }

    private func shifted(by metres: Double, _ fix: FenceFix, _ area: FenceArea) -> FenceStanding {
        let reach = exitMargin + max(0, -metres)
        guard area.mayReach(latitude: fix.latitude, longitude: fix.longitude, metres: reach) else { return .outside }
        let signed = area.signedMetres(latitude: fix.latitude, longitude: fix.longitude) + metres
        return signed <= 0 ? .inside : signed > exitMargin ? .outside : .between
    }

    private func likely(_ fix: FenceFix, _ area: FenceArea, _ depth: () -> Double) -> FenceStanding {
        // The depth is asked for only where it can matter.
        if fix.accuracy > LikelyRule.accuracyMetres, fix.accuracy > LikelyRule.accuracyMax(depth: depth()) { return .unusable }
        guard area.contains(latitude: fix.latitude, longitude: fix.longitude) else {
            return beyond(LikelyRule.exitMargin(accuracy: fix.accuracy, exitMargin), fix, area)
        }
        guard fix.accuracy > 0 else { return .inside }
        let inner = -area.signedMetres(latitude: fix.latitude, longitude: fix.longitude)
        return inner >= fix.accuracy / 2 || inner >= LikelyRule.entryMargin(accuracy: fix.accuracy, depth: depth())
            ? .inside : .between
    }
}
