import LiveTopics
import Records
import Wire

/// The live states of all datasets: each change of one, and what follows from it in the components of its dataset.
///
/// Which dataset an update is for, and whether that takes updates in at present, is decided before.
final class LiveBook {
    let states: LiveStates
    let subscribers: LiveSubscribers
    let parser: JSONParser
    let limits: HubLimits
    let decoder = LiveUpdateDecoder()
    /// Scratch for one update's properties.
    var properties: [UInt8] = []
    /// The same for what follows from sightings.
    var beaconEffects: [BeaconEffect] = []
    /// The live update that is being handled, where its sender waits to hear what became of it.
    var answered: AnsweredUpdate?
    /// Datasets whose engines have not yet seen every position of this batch.
    var moved: [Dataset] = []
    var recentMoves = RecentMoves()
    /// Positions that were restored while another topic had a later one of the same item.
    var overshadowed: [LiveState] = []
    /// Devices whose positions were cleared while a restoration went on.
    var displaced: [(device: Device, dataset: Dataset)] = []
    /// What doors that keep live states may lack.
    var resync = Resync()
    /// It owns this.
    unowned let shared: Shared

    init(_ shared: Shared) {
        self.shared = shared
        states = shared.liveStates
        subscribers = shared.liveSubscribers
        parser = shared.parser
        limits = shared.limits
    }

    /// The largest payload of a live update.
    static let updateMaximumBytes = 64 << 10
    /// How far ahead of ours a timestamp may be.
    static let skewMaximumMilliseconds: Int64 = 300_000

    /// Shows every engine what moved since the last time; nothing else may happen to a dataset in between.
    ///
    /// - Parameter knownSince: When an earlier life that forgot it showed the same; `Int64.max`: it is new.
    func reportMoves(knownSince: Int64 = .max, _ turn: inout Turn) {
        guard !moved.isEmpty else { return }
        for dataset in moved { dataset.geomatching.reportMoves(knownSince: knownSince, &turn) }
        moved.removeAll(keepingCapacity: true)
    }

    /// Has the properties of a live message written to the scratch buffer.
    @discardableResult
    func writeProperties<Result>(_ write: (inout JSONWriter) -> Result) -> Result {
        properties.removeAll(keepingCapacity: true)
        var writer = JSONWriter()
        swap(&writer.bytes, &properties)
        defer { swap(&writer.bytes, &properties) }
        return write(&writer)
    }

    /// Forgets all of a dataset that is removed.
    func removeAll(of dataset: Dataset) {
        states.removeAll(of: dataset) { state in
            if state.payload != nil { resync.clear(state.topic, of: dataset.id) }
            // Devices and states know each other, and states their dataset.
            state.device = nil
        }
        moved.removeAll { $0 === dataset }
    }
}
