import DaemonCore
import Datasets
import Foundation
import HTTPDoor
import Logging
import MQTTDoor
import MQTTLink
import PostgresStore
import Push
import ServiceLifecycle
import Store
import Wire

/// The daemon assembled: data directory, store, broker, hub, link, in dependency order.
struct Daemon {
    /// Why it ended, as an exit code says it.
    enum Failure: Error {
        /// 69: the broker cannot be reached or started, or the data directory is in use.
        case unavailable(String)
        /// 78
        case configuration(String)
        /// 70
        case `internal`(String)
    }

    var settings: Settings
    let version: String
    let log: Logger
    /// SIGHUP, since the program began.
    let hangups: Hangups
    /// Reads the configuration anew.
    let reread: @Sendable () throws(SettingsError) -> Settings

    /// Runs until SIGTERM or SIGINT, or until its terminal is closed.
    func run() async throws {
        if let cluster = settings.cluster { return try await run(in: cluster) }
        let directory = try lockDataDirectory()
        let store = try openStore(directory)
        for warning in settings.warnings { log.warning("\(warning)") }
        let identity = try identity(of: store)
        let clientID = try clientID(of: store)
        let embedded = try startEmbeddedBroker(directory, clientID: clientID)
        let daemon: RunningDaemon
        do {
            let services: [any Service]
            (daemon, services) = try assemble(store: store, identity: identity, clientID: clientID, embedded: embedded)
            daemon.door.mustAdopt = beginLife(in: store)
            try await run(services, health: daemon.core.health)
        } catch {
            embedded?.stop()
            throw error
        }
        // Only where nothing is left to take back and nothing is only in memory: else the next life looks for itself.
        if !daemon.door.mustAdopt, daemon.wroteEverything, !daemon.core.endedWhileLoading {
            try? store.setMetadata("life", "ended")
        }
        try? store.close()
        withExtendedLifetime(directory) {}
    }

    /// Runs services until one of them ends, or a signal ends them all.
    func run(_ services: [any Service], health: Health, graceSeconds: Int64 = 10) async throws {
        // Its lines are of our types, and say nothing to an operator.
        let quiet = Logger(label: "services") { _ in SwiftLogNoOpLogHandler() }
        var configuration = ServiceGroupConfiguration(
            services: services.map { service in
                let isHTTP = service is HTTPDoorService || service is NodeFrontService
                return .init(
                    service: service, successTerminationBehavior: .gracefullyShutdownGroup,
                    failureTerminationBehavior: isHTTP ? .gracefullyShutdownGroup : .cancelGroup)
            },
            gracefulShutdownSignals: [.sigterm, .sigint], logger: quiet)
        configuration.maximumGracefulShutdownDuration = .seconds(graceSeconds)
        // Then all end at once; only what hangs reaches this, which ends the process: the link takes 5 s at most, journal and broker 3 s.
        configuration.maximumCancellationDuration = .seconds(10)
        let start = StartService(health: health, timeoutSeconds: settings.startTimeoutSeconds)
        // Everything that runs ends in order, and then the failure is reported.
        configuration.services.append(
            .init(service: start, successTerminationBehavior: .ignore, failureTerminationBehavior: .gracefullyShutdownGroup))
        do {
            try await ServiceGroup(configuration: configuration).run()
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure.internal("\(error)")
        }
        if let ending = health.ending { throw Failure.unavailable(ending.description) }
    }

    // MARK: Parts

    func lockDataDirectory() throws(Failure) -> DataDirectory {
        do throws(DataDirectoryError) {
            return try DataDirectory(path: settings.dataDirectory)
        } catch {
            switch error {
            case .inUse: throw .unavailable(error.description)
            case .notWritable: throw .configuration(error.description)
            }
        }
    }

    private func openStore(_ directory: DataDirectory) throws(Failure) -> any DurableStore {
        if let address = settings.store { return try openStore(address) }
        do throws(StoreError) {
            let store = try Store(path: directory.storePath, repliesMax: settings.limits.rememberedReplies)
            // A crash of the machine, or a disk that fails, may have left anything.
            if !store.isAsClosed {
                log.notice("the last end was not clean, or this is a copy: the store is checked")
                try store.check()
            }
            return store
        } catch {
            throw .internal("\(directory.storePath): \(error)")
        }
    }

    private func openStore(_ address: PostgresAddress) throws(Failure) -> any DurableStore {
        do throws(StoreError) {
            let store = try PostgresStore(address, repliesMax: settings.limits.rememberedReplies)
            log.info("store", metadata: ["postgres": "\(address.name)"])
            return store
        } catch .busy {
            throw .unavailable("store \(address.name): another daemon uses it; one at a time")
        } catch {
            throw .unavailable("store \(address.name): \(error)")
        }
    }

    /// The store's own name, made once: it names our mark and our probe at the broker, and is published in `geomatch/status`.
    private func identity(of store: any DurableStore) throws(Failure) -> String {
        do throws(StoreError) {
            if let known = try store.metadata("storeId") {
                // Up to 0.1.0 it named our session, too.
                if try store.metadata("clientId") == nil { try store.setMetadata("formerClientId", "geomatchd-\(known)") }
                return known
            }
            let new = UUID().uuidString.lowercased()
            try store.setMetadata("storeId", new)
            return new
        } catch {
            throw .internal("\(error)")
        }
    }

    /// The name of our session at the broker, made once and published nowhere: a client that knows it can disconnect us and take it over.
    private func clientID(of store: any DurableStore) throws(Failure) -> String {
        do throws(StoreError) {
            if let known = try store.metadata("clientId") { return known }
            let name = "geomatchd-\(Self.secret())"
            try store.setMetadata("clientId", name)
            return name
        } catch {
            throw .internal("\(error)")
        }
    }

    /// What nobody guesses: 128 bits.
    static func secret() -> String {
        var random = SystemRandomNumberGenerator()
        return (0..<2).map { _ in String(random.next() as UInt64, radix: 36) }.joined()
    }

    /// What the session of the former client id holds at this broker is moved once.
    private func handover(
        in store: any DurableStore, to clientID: String, endpoint: MQTTEndpoint, door: MQTTDoor
    ) throws(Failure) -> DueHandover? {
        let key = "handedOver:" + (settings.broker?.name ?? "embedded")
        do throws(StoreError) {
            guard let former = try store.metadata("formerClientId"), try store.metadata(key) == nil else { return nil }
            let handover = SessionHandover(
                SessionHandover.Configuration(
                    endpoint: endpoint, formerID: former, presentID: clientID, filters: door.assuredFilters,
                    markTopic: door.handoverMark),
                log: log, note: { [health = door.core.health] in health.note($0) })
            return DueHandover(handover: handover, done: { try? store.setMetadata(key, "done") })
        } catch {
            throw .internal("\(error)")
        }
    }

    /// Notes that a life begins.
    ///
    /// - Returns: Whether the one before did not end cleanly.
    private func beginLife(in store: any DurableStore) -> Bool {
        do throws(StoreError) {
            let former = try store.metadata("life")
            try store.setMetadata("life", "begun")
            return former == "begun"
        } catch {
            log.warning("store cannot be written at the start", metadata: ["error": "\(error)"])
            return true
        }
    }

    private func startEmbeddedBroker(_ directory: DataDirectory, clientID: String) throws(Failure) -> EmbeddedBroker? {
        guard settings.broker == nil else { return nil }
        let plugin = BrokerPlugin.find()
        if plugin == nil {
            log.notice(
                "broker plugin not found: no batches, lower throughput of live data, and some bounds do not hold")
        }
        do throws(EmbeddedBrokerError) {
            return try startEmbeddedBroker(directory, clientID: clientID, plugin: plugin)
        } catch {
            switch error {
            case .directoryNotWritable, .usersFileUnreadable, .usersFileWrong, .fileUnreadable:
                throw .configuration(error.description)
            default: throw .unavailable(error.description)
            }
        }
    }

    private func startEmbeddedBroker(
        _ directory: DataDirectory, clientID: String, plugin: String?
    ) throws(EmbeddedBrokerError) -> EmbeddedBroker {
        let log = self.log
        var configuration = EmbeddedBrokerConfiguration(
            dataDirectory: directory.path, host: settings.listenHost, port: settings.listenPort,
            usersFile: settings.usersFile, topicsPrefix: settings.topicsPrefix,
            log: { line in
                let line = Self.text(ofBrokerLine: line.replacing(clientID, with: "geomatchd"))
                log.log(level: Self.level(ofBrokerLine: line), "mosquitto", metadata: ["line": "\(line)"])
            })
        configuration.pluginFile = plugin
        if plugin != nil, settings.liveSharesMemory { configuration.ring = makeRing() }
        configuration.adapterFilters = settings.adapters.map(\.filter)
        configuration.encryptedListener = settings.encryptedListener
        configuration.grants = settings.grants
        configuration.discoveryPrefix = settings.discoveryPrefix
        configuration.discoveryDatasets = settings.homeAssistant.datasets
        configuration.connectionsMaximum = connectionsMaximum()
        let broker = EmbeddedBroker(configuration)
        do throws(EmbeddedBrokerError) {
            try broker.start(timeoutSeconds: settings.startTimeoutSeconds)
        } catch {
            // A mosquitto that cannot load it ends at once; so it does for other reasons, which are reported when it does again.
            guard case .exitedAtOnce = error, plugin != nil else { throw error }
            log.warning("mosquitto does not start with the plugin; trying without", metadata: ["error": "\(error)"])
            return try startEmbeddedBroker(directory, clientID: clientID, plugin: nil)
        }
        log.info(
            "embedded broker started",
            metadata: [
                "listen": "\(settings.listenHost):\(settings.listenPort)",
                "batching": .stringConvertible(broker.takesBatches),
                "shared-memory": .stringConvertible(broker.ring.map { $0.refusal == nil } ?? false),
            ])
        return broker
    }

    /// Memory for live updates of the embedded broker; nil where the system has none.
    private func makeRing() -> LiveRing? {
        do throws(MQTTEndpointError) {
            return try LiveRing()
        } catch {
            log.notice("no memory for live updates: they come over MQTT, at a lower throughput", metadata: ["error": "\(error)"])
            return nil
        }
    }

    /// As configured, as far as files can be opened.
    private func connectionsMaximum() -> Int {
        // Listeners, its database, log and plugin, and those it refuses for a moment.
        let possible = max(16, OpenFiles.raiseLimit() - 100)
        if possible < settings.connectionsMaximum {
            log.warning(
                "fewer connections than configured: raise the limit of open files (LimitNOFILE, ulimit -n)",
                metadata: [
                    "limits.connections": .stringConvertible(settings.connectionsMaximum),
                    "possible": .stringConvertible(possible),
                ])
        }
        return min(settings.connectionsMaximum, possible)
    }

    /// After our own SIGHUP it is not to read its configuration again, and does without. At a start it would end, which is reported.
    private static let unreadConfiguration = "Error: Unable to open config file "

    /// A line of the child; what is none is not called an error.
    static func text(ofBrokerLine line: String) -> String {
        guard line.hasPrefix(unreadConfiguration) else { return line }
        return "As intended, a reload is of users, access and certificates only (\(line.dropFirst("Error: ".count)))"
    }

    /// What an operator should know of the child: that it ended, and what it calls an error or a warning.
    static func level(ofBrokerLine line: String) -> Logger.Level {
        // Of each connection to the private listener, which is no TCP.
        if line == "Warning: Unable to set TCP_NODELAY." { return .debug }
        if line.hasPrefix(unreadConfiguration) { return .debug }
        if line.hasPrefix("users: ") || line.hasPrefix("reloaded: ") { return .info }
        let alarming = ["mosquitto ended", "Error", "Warning", "Unable", "Out of memory"]
        return alarming.contains(where: line.hasPrefix) ? .warning : .debug
    }

    private func assemble(
        store: any DurableStore, identity: String, clientID: String, embedded: EmbeddedBroker?
    ) throws(Failure) -> (RunningDaemon, [any Service]) {
        guard let endpoint = settings.broker ?? embedded?.endpoint else { throw .internal("there is no broker") }
        let status = StatusMessage(version: version, instance: identity, startedAt: CoreClock.system.now())
        let health = Health()
        let access = AccessInForce(settings.accessRules)
        let signer = try keySigner()
        let push = try pushConfiguration()
        let restored = try restoredHub(
            hubConfiguration(identity: identity, access: access, push: push.offer, signKey: signer.sign), store: store,
            broker: endpoint.name)
        let topics = Topics(prefix: settings.topicsPrefix)
        let seed = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))
        let core = Core(hub: restored.hub, seed: seed, logger: log, health: health)
        let door = MQTTDoor(doorConfiguration(endpoint, status), core: core, heldFilters: restored.filters)
        let daemon = RunningDaemon(core: core, door: door)
        let http = try httpService(of: daemon, access: access)
        var link = MQTTLinkConfiguration(endpoint: endpoint, clientID: clientID, persistentSession: true)
        link.brokerTakesBatches = embedded?.takesBatches == true
        link.will = MQTTWill(topic: topics.status, payload: status.encode(isOnline: false))
        core.createDatasets(settings.datasets)
        let handover = try handover(in: store, to: clientID, endpoint: endpoint, door: door)
        let service: LinkService
        do throws(MQTTEndpointError) {
            service = LinkService(
                daemon, link: try MQTTLink(configuration: link, handler: door, ring: embedded?.ring), handover: handover,
                behind: http?.gate)
        } catch {
            throw .configuration(error.description)
        }
        let journal = JournalService(store: store, daemon: daemon, log: log)
        let policy = AddressPolicy(allowsPrivate: settings.webhooksAllowPrivate)
        let webhooks = WebhooksService(policy: policy, version: version, daemon: daemon)
        let pushService = PushService(push, policy: policy, daemon: daemon)
        let reload = ReloadService(
            hangups: hangups,
            reloading: Reloading(
                settings: settings, reread: reread, access: access, broker: embedded, http: daemon.http, log: log,
                discovery: { [weak door] datasets, isWhole in door?.reload(discovering: datasets, isWhole: isWhole) },
                adapters: { [weak door] rules, done in door?.reload(adapters: rules, done: done) }))
        let notify = NotifyService(health: health, wake: { [weak door] in door?.wake() })
        let services: [any Service] = [
            EmbeddedBrokerService(broker: embedded, daemon: daemon), journal, service, webhooks, pushService, reload, notify,
        ]
        return (daemon, services + (http.map { [$0] } ?? []))
    }

    func doorConfiguration(_ endpoint: MQTTEndpoint, _ status: StatusMessage) -> MQTTDoor.Configuration {
        var configuration = MQTTDoor.Configuration(
            broker: endpoint.name, topics: Topics(prefix: settings.topicsPrefix), instance: status.instance,
            readsEveryDataset: settings.broker == nil || settings.autoCreateDatasets,
            inputQoS: Int32(settings.liveInputQoS), liveQoS: Int32(settings.liveQoS), status: status,
            adapters: settings.adapters, yields: settings.broker != nil)
        configuration.homeAssistant = settings.homeAssistant
        return configuration
    }

    /// The push services with their keys.
    func pushConfiguration() throws(Failure) -> PushConfiguration {
        do throws(PushConfigurationError) {
            return try settings.push.configuration()
        } catch {
            throw .configuration(error.description)
        }
    }

    /// What offers HTTP; nil where that is off.
    private func httpService(of daemon: RunningDaemon, access: AccessInForce) throws(Failure) -> HTTPDoorService? {
        guard let configuration = try httpConfiguration(access) else { return nil }
        let http = HTTPDoor(configuration, core: daemon.core, wakeCore: { [weak door = daemon.door] in door?.wake() })
        daemon.http = http
        return HTTPDoorService(http, log: log, gate: HTTPGate())
    }

    /// What the operator decides about HTTP; nil where that is off.
    func httpConfiguration(_ access: AccessInForce) throws(Failure) -> HTTPDoorConfiguration? {
        guard var configuration = settings.httpConfiguration else { return nil }
        do throws(HTTPCertificate.Failure) {
            configuration.tls = try settings.http?.tls.map { files throws(HTTPCertificate.Failure) in
                try HTTPCertificate(certificateFile: files.certificateFile, keyFile: files.keyFile)
            }
        } catch {
            throw .configuration(error.description)
        }
        do {
            configuration.page.tiles = try settings.tileSource()
        } catch {
            throw .configuration("page.mbtiles: the file cannot be used: \(error)")
        }
        configuration.version = version
        configuration.folder = settings.dataDirectory
        configuration.storeBytes = { [folder = settings.dataDirectory] in Self.storeBytes(in: folder) }
        configuration.writes = { dataset, client in
            switch access.rules.writes(dataset: dataset, client: client) {
            case .all: .all
            case .own: .own
            case .none: .none
            }
        }
        return configuration
    }

    /// The size of the files that hold the store.
    private static func storeBytes(in folder: String) -> Int? {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let sizes = names.filter { $0.contains(".sqlite") || $0.contains(".db") }.compactMap { name in
            (try? FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)"))?[.size] as? Int
        }
        return sizes.isEmpty ? nil : sizes.reduce(0, +)
    }

    /// A dataset of the store may have the name that an adapter's topics begin with.
    func checkAdapters(beside datasets: [String]) throws(Failure) {
        guard
            let (index, problem) = AdapterRule.overlap(
                in: settings.adapters, prefix: settings.topicsPrefix, datasets: datasets)
        else { return }
        throw .configuration("adapters[\(index)].filter: \(problem)")
    }

    func keySigner() throws(Failure) -> KeySigner {
        do throws(KeySigner.Failure) {
            return try KeySigner(file: "\(settings.dataDirectory)/signing-key.pem")
        } catch {
            throw .configuration(error.description)
        }
    }

    /// What the operator decides about a hub.
    func hubConfiguration(
        identity: String, access: AccessInForce, push: PushOffer, signKey: @escaping @Sendable (KeyClaims) -> SignedKey
    ) -> HubConfiguration {
        var configuration = HubConfiguration()
        configuration.naming = Topics(prefix: settings.topicsPrefix).naming
        configuration.autoCreateDatasets = settings.autoCreateDatasets
        configuration.administrators = AccessPatterns(settings.administrators)
        configuration.mayName = { access.rules.mayName(dataset: $0, client: $1) }
        configuration.reads = { LiveReach(access.rules.reads(dataset: $0, client: $1)) }
        configuration.writes = { LiveReach(access.rules.writes(dataset: $0, client: $1)) }
        configuration.accessVersion = { access.version }
        configuration.limits = settings.limits
        configuration.reservedDatasets = settings.reservedDatasets
        configuration.webhooksAllowPrivate = settings.webhooksAllowPrivate
        configuration.push = push
        configuration.instance = identity
        configuration.signKey = signKey
        return configuration
    }

    /// A hub with what the store has, and the filters that the broker may hold.
    func restoredHub(
        _ configuration: HubConfiguration, store: any DurableStore, broker: String
    ) throws(Failure) -> (hub: Hub, filters: [String]) {
        let hub = Hub(configuration)
        let now = CoreClock.system.now()
        var filters: [String] = []
        do {
            try store.restore(dataset: nil, repliesSince: now - Hub.repliesMilliseconds) { change in
                if case .putFilters(broker, let held) = change { filters = held }
                try hub.restore(change, at: now)
            }
            hub.endRestoration(liveNumber: try store.highestLiveNumber, matchNumber: try store.highestMatchNumber)
        } catch {
            throw .internal("the store cannot be read: \(error)")
        }
        for (dataset, timeZone) in hub.unknownTimeZones {
            log.warning(
                "the time zone of a dataset is no name of the IANA database and counts as UTC: give another one with dataset/update",
                metadata: ["dataset": "\(dataset)", "timeZone": "\(timeZone)"])
        }
        try checkAdapters(beside: hub.datasetNames)
        return (hub, filters)
    }
}

/// What runs: the core and its door. Both belong to the link's thread.
///
/// `@unchecked Sendable`: `wroteEverything` is set when the threads have ended, and read behind that.
final class RunningDaemon: @unchecked Sendable {
    let core: Core
    let door: MQTTDoor
    /// The core does not keep its doors.
    var http: HTTPDoor?
    /// The journal ended with nothing left.
    var wroteEverything = false
    /// Entered while the link runs.
    let linkEnded = DispatchGroup()

    init(core: Core, door: MQTTDoor) {
        self.core = core
        self.door = door
    }

    /// Blocks until the loop has said all that it has to say, which it does within 5 s.
    func awaitLinkEnd() { _ = linkEnded.wait(timeout: .now() + 6) }
}
