import HTTPDoor
import Logging
import MQTTLink
import ServiceLifecycle
import Synchronization
import Wire

/// Who may do what at present; read on the link's thread, replaced by a reload.
final class AccessInForce: Sendable {
    private let held: Mutex<AccessRules>
    private let replacements = Atomic(0)

    init(_ rules: AccessRules) { held = Mutex(rules) }

    var rules: AccessRules { held.withLock { $0 } }

    /// Rises with each replacement.
    var version: Int { replacements.load(ordering: .acquiring) }

    func replace(by rules: AccessRules) {
        held.withLock { $0 = rules }
        replacements.add(1, ordering: .releasing)
    }
}

/// Takes what may change while the daemon runs: users, access, certificates, adapters, keys and origins of HTTP, what Home Assistant
/// discovers, log level.
final class Reloading: Sendable {
    private let inForce: Mutex<Settings>
    private let reread: @Sendable () throws(SettingsError) -> Settings
    private let access: AccessInForce
    private let broker: EmbeddedBroker?
    /// Takes other adapters, and says whether it could.
    private let reloadAdapters: @Sendable (_ rules: [AdapterRule], _ done: @escaping @Sendable (Bool) -> Void) -> Void
    /// Takes other datasets for Home Assistant, or at first only leaves out what is not among them; nil: with the next start.
    private let rediscover: (@Sendable (_ datasets: [String], _ isWhole: Bool) -> Void)?
    private let http: HTTPDoor?
    private let log: Logger

    init(
        settings: Settings, reread: @escaping @Sendable () throws(SettingsError) -> Settings, access: AccessInForce,
        broker: EmbeddedBroker?, http: HTTPDoor?, log: Logger, discovery rediscover: (@Sendable ([String], Bool) -> Void)? = nil,
        adapters reloadAdapters: @escaping @Sendable ([AdapterRule], @escaping @Sendable (Bool) -> Void) -> Void
    ) {
        inForce = Mutex(settings)
        self.reread = reread
        self.access = access
        self.broker = broker
        self.rediscover = rediscover
        self.reloadAdapters = reloadAdapters
        self.http = http
        self.log = log
    }

    /// Reads the configuration anew; where it is wrong everything stays.
    func reload() {
        let new: Settings
        do throws(SettingsError) {
            new = try reread()
        } catch {
            log.error("configuration not reloaded: everything stays as it was", metadata: ["error": "\(error)"])
            return
        }
        guard new.adapters != inForce.withLock({ $0.adapters }) else { return take(new) }
        reloadAdapters(new.adapters) { [self] isTaken in
            var new = new
            if !isTaken { new.adapters = inForce.withLock { $0.adapters } }
            take(new)
        }
    }

    private func take(_ new: Settings) {
        let (old, next) = inForce.withLock { settings in
            let old = settings
            settings = old.reloaded(from: new)
            if rediscover != nil { settings.homeAssistant.datasets = new.homeAssistant.datasets }
            return (old, settings)
        }
        LogThreshold.level = next.logLevel
        access.replace(by: next.accessRules)
        http?.reload(keys: next.keys, origins: OriginPatterns(next.http?.origins ?? []))
        reloadCertificate()
        // What goes is published to those who could read of it, what comes to those who may.
        let datasets = next.homeAssistant.datasets
        rediscover?(datasets, broker == nil)
        broker?.reload(
            grants: next.grants, adapterFilters: next.adapters.map(\.filter), discoveryPrefix: next.discoveryPrefix,
            discoveryDatasets: datasets, done: { [rediscover] in rediscover?(datasets, true) })
        let changed = next.keysThatDiffer(from: old)
        log.info(
            "configuration reloaded", metadata: ["changed": "\(changed.isEmpty ? "nothing" : changed.joined(separator: " "))"])
        let waiting = new.keysThatDiffer(from: next)
        if !waiting.isEmpty {
            log.warning("changes that need a restart", metadata: ["keys": "\(waiting.joined(separator: " "))"])
        }
    }

    private func reloadCertificate() {
        do throws(HTTPCertificate.Failure) {
            if try http?.reloadCertificate() == true { log.info("certificate of HTTP read anew") }
        } catch {
            log.error("certificate of HTTP not reloaded: it stays as it was", metadata: ["error": "\(error)"])
        }
    }
}

extension Settings {
    /// These settings with what a reload may change of others.
    func reloaded(from other: Settings) -> Settings {
        var settings = self
        settings.logLevel = other.logLevel
        settings.liveReaders = other.liveReaders
        settings.access = other.access
        settings.adapters = other.adapters
        settings.keys = other.keys
        settings.http?.origins = other.http?.origins ?? []
        return settings
    }

    /// The keys at the top of the printed configuration under which another is, in their order.
    func keysThatDiffer(from other: Settings) -> [String] {
        let (mine, others) = (sections, other.sections)
        let names = mine.map(\.key) + others.map(\.key).filter { key in !mine.contains { $0.key == key } }
        return names.filter { key in
            // Keys themselves are not printed.
            mine.first { $0.key == key }?.text != others.first { $0.key == key }?.text || key == "keys" && keys != other.keys
        }
    }

    private var sections: [(key: String, text: String)] {
        var sections: [(key: String, text: String)] = []
        for line in text.split(separator: "\n") {
            if line.hasPrefix(" "), let last = sections.indices.last {
                sections[last].text += "\n" + line
            } else {
                sections.append((String(line.prefix { $0 != ":" }), String(line)))
            }
        }
        return sections
    }
}

/// Reloads at each SIGHUP, and ends the daemon where its terminal is gone.
struct ReloadService: Service {
    let hangups: Hangups
    let reloading: Reloading

    func run() async throws {
        for await event in hangups.events.cancelOnGracefulShutdown() {
            if event == .terminalClosed { return }
            reloading.reload()
        }
    }
}
