import Geodesy
import Selectors

/// Finds the publications and subscriptions that meet: circles around moving devices on equal topics, with a selector.
///
/// Two are in range when both devices have a position and the geodesic distance between them is at most the sum of both ranges
/// (their reach): decided on grid points, a pure function of the two positions that is right but for 2 cm around the boundary.
/// Where the subscription's ``MatchOptions`` say so, both accuracies are subtracted from the distance or added to it, and the floors
/// must be equal. They match when in range, alive (`now < expiresAt`), on equal topics, with a selector that is TRUE, and not
/// kept apart by `excludesSelf`. A pair is evaluated when either side is added, moves or is updated, and when a time of its
/// options elapses.
///
/// Mode `once`: a match, which is in effect until `now - lastMatchAt >= matchTTL`, or either side is at least `matchDTL` from
/// where it was then.
///
/// Mode `visit`: a match on coming into range, or with a `dwell` when the pair has stayed within reach for that long (leaving
/// reach before cancels the stay silently), and an end when it is out of range by more than `exitMargin`, the floors differ, an
/// update makes it impossible, a life is over, a side is removed or has no position, or was not heard of for `staleAfter`. Heard
/// means any position, also an unchanged one; a pair still in range after such an end begins anew once both were heard.
///
/// The caller says what time it is, never earlier than before, and calls ``advance(to:into:)`` until ``nextDeadline`` is later
/// than that before any other input: what is due is otherwise handled late, though never wrongly.
///
/// One owner: an engine is neither Sendable nor reentrant. References must be of things that are still there, except where a
/// method says otherwise.
public final class Engine {
    let state: UnsafeMutablePointer<EngineState>

    public init(limits: EngineLimits = EngineLimits()) {
        state = .allocate(capacity: 1)
        state.initialize(to: EngineState(limits: limits))
    }

    deinit {
        state.pointee.deallocate()
        state.deinitialize(count: 1)
        state.deallocate()
    }

    // MARK: Devices

    /// - Parameter isFixed: It stays where it was put and need not report that again: `staleAfter` never counts for it.
    public func addDevice(isFixed: Bool = false) -> DeviceRef { DeviceRef(index: state.pointee.addDevice(isFixed: isFixed)) }

    /// Removes the device with its publications and subscriptions; their visits end (`deleted`).
    ///
    /// - Returns: What went with it, in order of their numbers, so that the owner can forget it.
    public func removeDevice(
        _ d: DeviceRef, at now: Int64, into effects: inout [Effect]
    ) -> (publications: [PublicationRef], subscriptions: [SubscriptionRef]) {
        guard state.pointee.isAlive(d) else { return ([], []) }
        let gone = (publications: publications(of: d), subscriptions: subscriptions(of: d))
        state.pointee.endVisits(ofDevice: d.index, .deleted, at: now, unlinking: false)
        state.pointee.finish(into: &effects)
        for publication in gone.publications { state.pointee.remove(.publication, publication.index) }
        for subscription in gone.subscriptions { state.pointee.remove(.subscription, subscription.index) }
        state.pointee.removeDevice(d.index)
        return gone
    }

    /// nil: the device has no position, or does not exist.
    public func position(of d: DeviceRef) -> Position? {
        guard state.pointee.isAlive(d), state.pointee.devices[d.index].isPlaced else { return nil }
        return state.pointee.devices[d.index].position
    }

    /// Unknown too where the device does not exist or has no position.
    public func floor(of d: DeviceRef) -> FloorRef {
        guard state.pointee.isAlive(d), state.pointee.devices[d.index].isPlaced else { return .unknown }
        return FloorRef(number: state.pointee.devices[d.index].floor)
    }

    /// The publications of a device, in the order of references; empty where the device is not there.
    public func publications(of d: DeviceRef) -> [PublicationRef] {
        guard state.pointee.isAlive(d) else { return [] }
        return state.pointee.entries(.publication, of: d.index).map { PublicationRef(index: $0) }
    }

    /// The subscriptions of a device, in the order of references; empty where the device is not there.
    public func subscriptions(of d: DeviceRef) -> [SubscriptionRef] {
        guard state.pointee.isAlive(d) else { return [] }
        return state.pointee.entries(.subscription, of: d.index).map { SubscriptionRef(index: $0) }
    }

    // MARK: Movement

    /// Moves a device. nil: it has no position from now on, nothing is in its range, and its visits end (`lost`).
    ///
    /// - Parameter position: Valid degrees (`Position.isValid`); others are ignored, here and in a burst.
    /// - Parameter fixedAt: When it was there, milliseconds since 1970 UTC; nil: now.
    public func move(
        _ d: DeviceRef, to position: Position?, floor: FloorRef = .unknown, fixedAt: Int64? = nil, at now: Int64,
        into effects: inout [Effect]
    ) {
        guard state.pointee.isAlive(d) else { return }
        guard let position else {
            return state.pointee.displace(d.index, at: now, into: &effects)
        }
        guard Position.isValid(latitude: position.latitude, longitude: position.longitude) else { return }
        let point = GridPoint(latitude: position.latitude, longitude: position.longitude)
        state.pointee.runs.truncate(to: 0)
        state.pointee.move(d.index, position, point, floor, fixedAt: fixedAt, at: now, probePrefetch: 0..<0)
        state.pointee.finish(into: &effects)
    }

    /// The same as moving one after another in this order, up to half as fast again where few are in reach: the misses of one
    /// move pass during the others.
    ///
    /// - Parameter knownSince: When these movements were shown before, in a life that forgot them: a pair with a `matchTTL` of 0
    ///   that met then or later has reported them. `Int64.max`: they are new.
    public func move(_ moves: [Move], at now: Int64, knownSince: Int64 = .max, into effects: inout [Effect]) {
        state.pointee.movesKnownSince = knownSince
        defer { state.pointee.movesKnownSince = .max }
        moves.withUnsafeBufferPointer { state.pointee.move($0, at: now, into: &effects) }
    }

    /// A device that stays where it is turns out to be on another floor: evaluates what that changes. It is not heard of by this, and
    /// for a `matchTTL` of 0 it is no movement.
    public func setFloor(of d: DeviceRef, to floor: FloorRef, at now: Int64, into effects: inout [Effect]) {
        guard let position = position(of: d), self.floor(of: d) != floor else { return }
        let heard = state.pointee.heard[d.index]
        move(
            [Move(device: d, position: position, floor: floor, fixedAt: heard.fixedAt)], at: now, knownSince: .min, into: &effects
        )
        state.pointee.heard[d.index] = heard
    }

    /// Restores the position of a device and when it was last heard of (milliseconds since 1970 UTC); nothing is evaluated before it
    /// moves, and then everything in its range.
    ///
    /// - Parameter fixedAt: When it was there; nil: when it was last heard of.
    public func place(
        _ d: DeviceRef, at position: Position, floor: FloorRef = .unknown, heardAt: Int64, fixedAt: Int64? = nil
    ) {
        guard state.pointee.isAlive(d), Position.isValid(latitude: position.latitude, longitude: position.longitude) else {
            return
        }
        let point = GridPoint(latitude: position.latitude, longitude: position.longitude)
        state.pointee.put(d.index, position, point, floor, heardAt: heardAt, fixedAt: fixedAt ?? heardAt)
        // Whatever is known of its pairs is looked at with its next movement.
        state.pointee.devices[d.index].budget = 0
        state.pointee.devices[d.index].isUnexamined = true
    }

    // MARK: Time

    /// Handles lives, TTLs, stays and silences that are due, a few thousand at most: call it until ``nextDeadline`` is later than `now`.
    public func advance(to now: Int64, into effects: inout [Effect]) {
        state.pointee.advance(to: now, limit: 4096, into: &effects)
    }

    /// The next instant at which something is due; nil: nothing is, without further input.
    public var nextDeadline: Int64? { state.pointee.nextDeadline() }

    // MARK: Figures

    /// Bytes of memory the engine holds, used or not; without those the properties and selectors hold themselves.
    public var memoryBytes: Int { state.pointee.bytes }

    public var deviceCount: Int { state.pointee.devices.count }
    public var publicationCount: Int { state.pointee.publications.count }
    public var subscriptionCount: Int { state.pointee.subscriptions.count }

    /// Pairs of which something is remembered: a last match, a visit or a stay that may become one.
    public var pairCount: Int { state.pointee.index.pairs.count }

    /// What the engine has done so far.
    public var tally: Tally { state.pointee.tally }

    /// For the other files of the engine.
}

/// How much work an engine has done: the figures without which a rate says little.
public struct Tally: Equatable, Sendable {
    /// Entries of the other side whose distance was looked at.
    public var candidates: UInt64 = 0
    /// Pairs found to have come into range.
    public var arrivals: UInt64 = 0
}
