import DaemonCore
import Datasets
import Logging
import MQTTLink
import Records

// From a connection to `online`: subscribe, let go of filters of an earlier life, probe.

extension MQTTDoor {
    public func linkConnected(sessionPresent: Bool, protocolVersion: Int) {
        // Stopped on the way here, for longer than the lease: the session is another node's.
        if let role, !role.isFresh() { return abandon() }
        core.logger.log(
            level: role == nil ? .info : .debug, "connected",
            metadata: [
                "broker": "\(configuration.broker)", "mqtt": "\(protocolVersion == 5 ? "5" : "3.1.1")",
                "session": "\(sessionPresent ? "resumed" : "new")",
            ])
        if !sessionPresent, !session.held.isEmpty {
            core.logger.warning(
                "the broker has lost the session: requests without a reply must be repeated, live state is published again",
                metadata: ["broker": "\(configuration.broker)"])
        }
        if onlineAt == nil, !sessionPresent { beganSession = true }
        // What an earlier life retained for Home Assistant may be there without the session.
        if !sessionPresent { session.held = session.held.filter { $0 == configuration.homeAssistant.filter } }
        discovery.forgetRetained()
        core.noteRefusedSubscriptions(0, isNew: true)
        session.mark = nil
        session.additions = [:]
        session.removals = [:]
        session.phase = .subscribing(id: subscribe(wantedFilters()))
    }

    public func linkSubscribed(id: Int32, granted: [UInt8]) {
        if let added = session.additions.removeValue(forKey: id) {
            let refused = refused(added, granted)
            if !refused.isEmpty { refuse(filters: refused) }
            announceOpened()
            return
        }
        if session.phase == .adopting(id: id) {
            if granted.contains(where: { $0 >= 0x80 }) {
                core.logger.warning(
                    "retained live state cannot be read: what was published in the last second before a crash, or of datasets deleted since, may stay there"
                )
            }
            letGoOfStaleFilters()
            return
        }
        guard session.phase == .subscribing(id: id) else { return }
        let wanted = wantedFilters().map(\.filter)
        let refused = refused(wanted, granted)
        guard refused.isEmpty else {
            refuse(filters: refused)
            return
        }
        beginAdoption()
    }

    /// The filters that the broker refused and that are needed.
    private func refused(_ filters: [String], _ granted: [UInt8]) -> [String] {
        core.noteRefusedSubscriptions(granted.count { $0 >= 0x80 })
        // Other daemons may remain unseen.
        let all = zip(filters, granted).filter { filter, code in
            code >= 0x80 && filter != topics.status && filter != configuration.homeAssistant.filter
        }.map(\.0)
        let needed = all.filter { !BrokerFilters.isOptional($0, prefix: topics.prefix) }
        if needed.count < all.count {
            core.logger.notice("malformed request topics are not reported: the broker refuses to let us read them")
        }
        return needed
    }

    /// Filters of an earlier life, before anything is said to be online.
    func letGoOfStaleFilters() {
        let stale = unwantedFilters
        if stale.isEmpty { sendProbe() } else { session.phase = .unsubscribing(id: unsubscribe(stale)) }
    }

    public func linkUnsubscribed(id: Int32) {
        if let gone = session.removals.removeValue(forKey: id) {
            session.held.subtract(gone)
            rememberFilters()
        }
        if session.phase == .unsubscribing(id: id) { sendProbe() }
    }

    public func linkDisconnected(_ reason: MQTTDisconnect) {
        core.doorClosed()
        session.phase = .away
        session.isAdopting = false
        let why =
            "\(reason)"
            + (mayBeAnothers(reason) ? "; should this be the embedded broker of another geomatchd: it takes no second one" : "")
        var metadata: Logger.Metadata = ["broker": "\(configuration.broker)", "reason": "\(why)"]
        if let delay = reason.retryAfterSeconds { metadata["retry.seconds"] = .stringConvertible((delay * 10).rounded() / 10) }
        switch reason.cause {
        case .stopped:
            keepRest()
            core.logger.info("disconnected", metadata: metadata)
        case .lost: core.logger.warning("connection lost", metadata: metadata)
        case .unreachable: core.logger.warning("broker cannot be reached", metadata: metadata)
        case .refused: core.logger.error("connection refused", metadata: metadata)
        }
        core.health.note(why)
    }

    /// Whether an embedded broker answers so to a daemon that is not its own.
    private func mayBeAnothers(_ reason: MQTTDisconnect) -> Bool {
        guard case .refused(.notAuthorised, _, _) = reason.cause else { return false }
        return !configuration.broker.hasPrefix("unix:")
    }

    /// The daemon's own request and its mark come back to it; the hub never sees them.
    func isOwn(_ message: InboundMessage) -> Bool {
        guard message.topic.starts(with: ownTree) else { return false }
        let topic = String(decoding: message.topic, as: UTF8.self)
        if topic == topics.mark(sessionName) {
            if message.retain, session.mark == nil {
                session.mark = Int64(String(decoding: message.payload, as: UTF8.self))
            }
            return true
        }
        if topic == topics.probe(sessionName) + String(session.probe), case .probing = session.phase {
            becomeOnline()
            return true
        }
        // Marks and probes of an earlier try, or of another daemon, ask nothing of us; anything else here gets an answer.
        let levels = topic.dropFirst(topics.own.count).split(separator: "/", omittingEmptySubsequences: false)
        if levels.count == 2, levels[0] == "notice" {
            noteNotice(message, from: String(levels[1]))
            return true
        }
        return levels[0] == "mark" || levels.count > 2 && levels[1] == "request" && levels[2] == "probe"
    }

    func checkProbe(at instant: Int64) {
        guard case .probing(let until) = session.phase, instant >= until else { return }
        refuse(
            "the broker grants \(topics.anyRequest) and passes nothing there: its access list must let us write and read \(topics.probe(sessionName))#"
        )
    }

    /// The probe comes behind what the broker held for us: as long as something comes it is not late.
    func awaitProbe() { session.phase = .probing(until: core.clock.monotonic() + Session.probeMilliseconds) }

    private func sendProbe() {
        awaitProbe()
        // With `live.input-qos: 1` the broker is to keep what was published so until we have it.
        if let refusal = link?.openRing(kept: topics.reserved, keepsAssured: configuration.inputQoS > 0) {
            core.logger.notice("live updates come over MQTT, at a lower throughput", metadata: ["reason": "\(refusal)"])
        }
        publish(Array("{}".utf8), on: topics.probe(sessionName) + session.nextProbe(), qos: 1, retain: false)
    }

    private func becomeOnline() {
        session.phase = .online
        onlineAt = onlineAt ?? core.clock.monotonic()
        endAdoption()
        forgetMark()
        publishStatus()
        openDatasets()
        publishUnsent()
        eraseInputs()
        core.doorOpened(holding: session.mark ?? 0)
        beginDiscovery()
        core.logger.log(
            level: role == nil ? .info : .debug, "online",
            metadata: ["broker": "\(configuration.broker)", "datasets": .stringConvertible(core.hub.datasetNames.count)])
        core.health.becomeOnline()
        reviewUndecided()
        awaitHandover()
        if role != nil { takeRouted() }
    }

    private func refuse(filters: [String]) {
        refuse("the broker refused \(filters.prefix(5).joined(separator: ", ")): its access list must let us read them")
    }

    /// Stays offline until the next connection; at the start it is the end.
    private func refuse(_ why: String) {
        session.phase = .refused
        core.logger.error("subscription refused", metadata: ["broker": "\(configuration.broker)", "error": "\(why)"])
        if role?.isReception != false {
            publish(configuration.status.encode(isOnline: false, error: why), on: topics.status, qos: 1, retain: true)
        }
        core.health.fail(.refused(why))
    }

    // MARK: Filters

    func subscribe(_ filters: [BrokerFilters.Filter]) -> Int32 {
        let names = filters.map(\.filter)
        for id in session.removals.keys { session.removals[id]?.subtract(names) }
        session.held.formUnion(names)
        rememberFilters()
        return link?.subscribe(filters.map { ($0.filter, $0.qos) }) ?? -1
    }

    func unsubscribe(_ filters: Set<String>) -> Int32 {
        let id = link?.unsubscribe(filters.sorted()) ?? -1
        session.removals[id] = filters
        return id
    }

    /// What the broker may hold for us also when we die now.
    private func rememberFilters() {
        core.keep(.putFilters(broker: configuration.broker, session.held.sorted()))
    }

    /// What the broker may hold and nobody wants any more.
    var unwantedFilters: Set<String> {
        let wanted = wantedFilters().map(\.filter) + (session.isAdopting ? retainedFilters.map(\.filter) : [])
        return session.held.subtracting(wanted).subtracting(session.leaving)
    }

    private func wantedFilters() -> [BrokerFilters.Filter] {
        BrokerFilters.wanted(
            datasets: servedDatasets, readsEveryDataset: configuration.readsEveryDataset, prefix: topics.prefix,
            inputQoS: configuration.inputQoS, mark: topics.mark(sessionName), adapters: configuration.adapters,
            requestsOf: role.map { $0.isReception ? nil : servedDatasets } ?? nil)
            + sessionFilters
            + (readsDiscovery ? [BrokerFilters.Filter(filter: configuration.homeAssistant.filter, qos: 0)] : [])
    }

    /// Those that are the session's own.
    private var sessionFilters: [BrokerFilters.Filter] {
        guard let role else { return [BrokerFilters.Filter(filter: topics.status, qos: 0)] }
        if role.isReception {
            return [
                BrokerFilters.Filter(filter: topics.status, qos: 0), BrokerFilters.Filter(filter: topics.notice("+"), qos: 1),
            ]
        }
        return [
            BrokerFilters.Filter(filter: topics.notice(sessionName), qos: 1),
            BrokerFilters.Filter(filter: topics.probe(sessionName) + "#", qos: 1),
        ]
    }

    /// What the broker holds for us while we are away, but for our own mark.
    public var assuredFilters: [String] {
        let mark = topics.mark(sessionName)
        return wantedFilters().filter { $0.qos > 0 && $0.filter != mark }.map(\.filter)
    }

    /// Where a session that takes over from a former one marks how far that is to be read.
    public var handoverMark: String { topics.probe(sessionName) + "handover" }

    /// A dataset came or went.
    func updateFilters() {
        guard session.phase != .away, session.phase != .refused else { return }
        let wanted = wantedFilters()
        if case .subscribing = session.phase {
            // The answer on its way is for the former set: begin again with this one.
            session.phase = .subscribing(id: subscribe(wanted))
            return
        }
        let leaving = session.leaving
        let added = wanted.filter { !session.held.contains($0.filter) || leaving.contains($0.filter) }
        if !added.isEmpty { session.additions[subscribe(added)] = added.map(\.filter) }
        let removed = unwantedFilters
        if !removed.isEmpty { _ = unsubscribe(removed) }
    }
}
