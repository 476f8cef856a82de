internal import MQTTValues
internal import Wire

/// The devices of one monitor. Guarded by the session's lock, as everything on it.
final class MatchCore: SessionComponent {
    struct Watch {
        let order: UInt64
        var device: String
        var filter: String
        /// False until the first list came.
        var isActive = false
        /// The list that is under way; what comes live meanwhile waits, so that all come in order.
        var request: [UInt8]?
        var held: [GeoMatch] = []
        /// Ids of reported matches, newest last.
        var reported: [String] = []
        var isReported: Set<String> = []
    }

    /// As many as the daemon keeps, and as ``MatchMonitor/recent`` has.
    static let recentMax = 100
    /// Ids remembered for each device, so that none is reported twice.
    static let reportedMax = 1000
    /// Matches that may wait for a list; beyond, the oldest are found in it or reported as missed.
    static let heldMax = 1000

    var number = 0
    /// By the bytes of the device's id.
    private var watches: [[UInt8]: Watch] = [:]
    private(set) var recent: [GeoMatch] = []
    private var state = ConnectionState.closed
    let matches = Broadcast<GeoMatch, GeomatchError>()
    let events = Broadcast<MatchEvent, Never>()

    typealias Done = @Sendable (Result<Void, GeomatchError>) -> Void

    var devices: [String] { watches.values.sorted { $0.order < $1.order }.filter(\.isActive).map(\.device) }

    func start(_ device: String, _ core: SessionCore, _ done: @escaping Done) {
        let key = Array(device.utf8)
        guard watches[key] == nil else { return done(.success(())) }
        let filter = core.topics.matches(device)
        core.addFilter(filter, component: number)
        core.hold(number)
        guard core.holds(number) else {
            core.removeFilter(filter)
            return done(.failure(.closed))
        }
        if state == .closed, core.phase == .connected || core.phase.state == .connecting {
            // An open connection: the states on the way there are reported all the same.
            move(to: .connecting)
            move(to: core.phase.state)
        }
        watches[key] = Watch(order: core.nextNumber(), device: device, filter: filter)
        list(key, core, timeout: core.configuration.requestTimeout, done)
    }

    func stop(_ device: String, _ core: SessionCore) { remove(Array(device.utf8), core) }

    /// Makes a start that is under way end.
    func giveUp(_ device: String, _ core: SessionCore) {
        guard let watch = watches[Array(device.utf8)], !watch.isActive, let request = watch.request else { return }
        core.cancelRequest(request, with: .cancelled)
    }

    func close(_ core: SessionCore) {
        for key in watches.keys { remove(key, core) }
        core.components[number] = nil
        matches.finish(nil)
        events.finish(nil)
    }

    private func remove(_ key: [UInt8], _ core: SessionCore) {
        guard let watch = watches.removeValue(forKey: key) else { return }
        core.removeFilter(watch.filter)
        if let request = watch.request { core.cancelRequest(request, with: .cancelled) }
        guard watches.isEmpty, core.holds(number) else { return }
        core.release(number)
        if core.phase != .disconnecting { move(to: .closed) }
    }

    // MARK: Catching up

    func recover(_ core: SessionCore) {
        for (key, watch) in watches where watch.isActive {
            if let request = watch.request { core.cancelRequest(request, with: .cancelled) }
            list(key, core, timeout: nil) { _ in }
        }
    }

    private func list(_ key: [UInt8], _ core: SessionCore, timeout: Duration?, _ done: @escaping Done) {
        guard let watch = watches[key] else { return done(.failure(.closed)) }
        let request = core.request(
            "match/list", ["deviceId": .string(watch.device)], requiredFilter: watch.filter, timeout: timeout
        ) { [unowned self, unowned core] result in
            listed(key, result, core, done)
        }
        watches[key]?.request = request
    }

    private func listed(
        _ key: [UInt8], _ result: Result<JSONObject, GeomatchError>, _ core: SessionCore, _ done: Done
    ) {
        guard let watch = watches[key] else { return done(.failure(.cancelled)) }
        let listed: [GeoMatch]
        do throws(GeomatchError) {
            listed = try MatchRequests.matches(in: try result.get())
        } catch  where error.kind == .cancelled && watch.isActive {
            // A newer list is under way.
            return
        } catch {
            watches[key]?.request = nil
            remove(key, core)
            if error.kind != .cancelled { events.send(.monitoringFailed(deviceID: watch.device, error)) }
            return done(.failure(error))
        }
        watches[key]?.isActive = true
        watches[key]?.request = nil
        let isGap =
            watch.isActive && listed.count >= Self.recentMax && !watch.reported.isEmpty
            && !listed.contains { watch.isReported.contains($0.id) }
        if isGap { events.send(.missed(deviceID: watch.device)) }
        for match in listed { report(match, key) }
        let held = watches[key]?.held ?? []
        watches[key]?.held.removeAll()
        for match in held { report(match, key) }
        done(.success(()))
    }

    private func report(_ match: GeoMatch, _ key: [UInt8]) {
        guard watches[key]?.isReported.insert(match.id).inserted == true else { return }
        watches[key]?.reported.append(match.id)
        if let reported = watches[key]?.reported, reported.count > 2 * Self.reportedMax {
            // In blocks, so that each match costs the same on average.
            let kept = Array(reported.suffix(Self.reportedMax))
            watches[key]?.reported = kept
            watches[key]?.isReported = Set(kept)
        }
        recent.append(match)
        if recent.count > Self.recentMax { recent.removeFirst(recent.count - Self.recentMax) }
        matches.send(match)
        events.send(.matched(match))
    }

    // MARK: What the session reports

    func received(_ message: InboundMessage, _ core: SessionCore) {
        let topic = String(decoding: message.topic, as: UTF8.self)
        guard let slash = topic.utf8.lastIndex(of: UInt8(ascii: "/")),
            let key = watches.first(where: { $0.value.filter.utf8.dropLast().elementsEqual(topic[...slash].utf8) })?.key
        else { return }
        do throws(GeomatchError) {
            let match = try MatchRequests.match(core.parse(message.payload))
            guard watches[key]?.request != nil else { return report(match, key) }
            watches[key]?.held.append(match)
            if let held = watches[key]?.held, held.count > Self.heldMax { watches[key]?.held.removeFirst() }
        } catch {
            events.send(.failed(error))
        }
    }

    func stateChanged(_ state: ConnectionState, _ core: SessionCore) {
        if core.holds(number) || self.state != .closed { move(to: state) }
    }

    private func move(to state: ConnectionState) {
        guard state != self.state else { return }
        self.state = state
        events.send(.stateChanged(state))
    }

    func failed(_ error: GeomatchError, _ core: SessionCore) {
        for watch in watches.values.sorted(by: { $0.order < $1.order }) {
            core.removeFilter(watch.filter)
            events.send(.monitoringFailed(deviceID: watch.device, error))
        }
        watches.removeAll()
        if error.kind != .closed { events.send(.failed(error)) }
        matches.finish(error.kind == .closed ? nil : error)
    }

    func troubled(_ error: GeomatchError) {
        if !watches.isEmpty { events.send(.failed(error)) }
    }

    func filterRefused(_ filter: String, _ error: GeomatchError, _ core: SessionCore) {
        guard let (key, watch) = watches.first(where: { $0.value.filter.utf8.elementsEqual(filter.utf8) }) else { return }
        if let request = watch.request {
            // Its completion removes and reports.
            core.cancelRequest(request, with: error)
        } else {
            remove(key, core)
            events.send(.monitoringFailed(deviceID: watch.device, error))
        }
    }

    func tick(_ now: Int64, _ core: SessionCore) -> Int64 { .max }
}
