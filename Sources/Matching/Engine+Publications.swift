import Geodesy
import Selectors

extension Engine {
    /// Adds a publication to a device and evaluates it.
    ///
    /// - Parameter range: Metres, 0…5120; what lies outside counts as the nearest.
    /// - Parameter expiresAt: The first instant at which it no longer lives; `Int64.max`: never.
    /// - Parameter evaluate: false restores: whatever it would meet now is met only when its device or the other's moves.
    public func addPublication(
        on d: DeviceRef, topic: String, range: Double, expiresAt: Int64, properties: Properties, at now: Int64,
        evaluate: Bool = true, into effects: inout [Effect]
    ) -> PublicationRef {
        let index = state.pointee.add(
            .publication, on: d.index, topic: topic, range: range, expiresAt: expiresAt, program: 0, rule: Rule())
        state.pointee.properties.initialize(index, to: properties)
        state.pointee.publications[index].signature = properties.accessSignature
        complete(.publication, index, evaluate, at: now, into: &effects)
        return PublicationRef(index: index)
    }

    /// Removes a publication; its visits end (`deleted`). Nothing happens where it is gone already.
    public func removePublication(_ p: PublicationRef, at now: Int64, into effects: inout [Effect]) {
        guard isAlive(p) else { return }
        state.pointee.endVisits(.publication, p.index, .deleted, at: now)
        state.pointee.finish(into: &effects)
        state.pointee.remove(.publication, p.index)
    }

    /// Replaces everything of a publication but its device, and evaluates it. What is remembered of its pairs stays, but
    /// visits that it makes impossible end (`left`).
    ///
    /// - Parameter evaluate: false restores: what that changes is found when its device or another one moves.
    public func update(
        _ p: PublicationRef, topic: String, range: Double, expiresAt: Int64, properties: Properties, at now: Int64,
        evaluate: Bool = true,
        into effects: inout [Effect]
    ) {
        guard isAlive(p) else { return }
        state.pointee.properties.base[Int(p.index)] = properties
        state.pointee.publications[p.index].signature = properties.accessSignature
        state.pointee.change(.publication, p.index, topic: topic, range: range, expiresAt: expiresAt, rule: Rule())
        guard evaluate else { return state.pointee.lowerBudget(state.pointee.publications[p.index].device, to: 0) }
        state.pointee.revise(.publication, p.index, at: now)
        state.pointee.probeAll(.publication, p.index, at: now)
        state.pointee.finish(into: &effects)
    }

    /// Its device. The reference must be alive.
    public func device(of p: PublicationRef) -> DeviceRef {
        DeviceRef(index: state.pointee.publications[p.index].device)
    }

    func isAlive(_ p: PublicationRef) -> Bool {
        Int(p.index) < state.pointee.publications.used && state.pointee.publications[p.index].isAlive
    }

    /// Gives a new entry its lane and evaluates it.
    func complete(_ side: Side, _ index: UInt32, _ evaluate: Bool, at now: Int64, into effects: inout [Effect]) {
        let device = state.pointee.entry(side, index).pointee.device
        if state.pointee.devices[device].isPlaced { state.pointee.place(side, index) }
        guard evaluate else { return }
        state.pointee.probeAll(side, index, at: now)
        state.pointee.finish(into: &effects)
    }
}
