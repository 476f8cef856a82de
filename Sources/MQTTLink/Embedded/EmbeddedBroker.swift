import CMosquitto
import Glibc
import Synchronization

/// The daemon's own mosquitto: a child process that is started, watched, restarted when it dies, and ended with us.
///
/// The child belongs to one thread, which alone starts, signals and reaps it; the rest of the object is what that thread
/// reports, behind a lock.
public final class EmbeddedBroker: Sendable {
    struct State {
        var processID: Int32?
        var lastLines: [String] = []
        /// Set when the first child ended before it accepted anything.
        var firstExit: String?
        var thread: pthread_t?
    }

    private let settings: Mutex<EmbeddedBrokerConfiguration>
    let state = Mutex(State())
    let files = Mutex<BrokerFiles?>(nil)
    let isStopping = Atomic<Bool>(false)
    let hasStarted = Atomic<Bool>(false)
    /// The supervisor is to read users and certificates anew.
    let mustReload = Atomic<Bool>(false)
    /// Called when it was done.
    let waitingForReload = Mutex<[@Sendable () -> Void]>([])
    /// Wakes the supervisor for a stop; an eventfd.
    let stopDescriptor: Int32

    public init(_ configuration: EmbeddedBrokerConfiguration) {
        settings = Mutex(configuration)
        stopDescriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
    }

    deinit {
        close(stopDescriptor)
    }

    /// Ends what an earlier run left behind, starts mosquitto, and returns when both of its listeners accept. Once for each
    /// object. Blocks the calling thread.
    public func start(timeoutSeconds: Double) throws(EmbeddedBrokerError) {
        precondition(state.withLock { $0.thread == nil }, "an embedded broker is started once")
        let executable = try BrokerExecutable.find(configuration.executable)
        let files = try BrokerFiles(dataDirectory: configuration.dataDirectory)
        try LeftBehind.end(files: files, log: configuration.log)
        for address in configuration.addresses { try address.checkFree() }
        var users: WatchedUsers?
        if let path = configuration.usersFile { users = try WatchedUsers(path: path) }
        try files.write(configuration, users: users?.users)
        self.files.withLock { $0 = files }
        let child = try launch(executable, files: files)
        do throws(EmbeddedBrokerError) {
            try startSupervisor(
                BrokerSupervisor(broker: self, executable: executable, files: files, child: child, users: users))
        } catch {
            // Nobody else ends it.
            kill(child.processID, SIGKILL)
            waitpid(child.processID, nil, 0)
            child.closeFiles()
            ended("not supervised", files: files)
            throw error
        }
        do throws(EmbeddedBrokerError) {
            try awaitListeners(files, seconds: timeoutSeconds)
        } catch {
            stop()
            throw error
        }
    }

    /// SIGTERM, so that it saves, SIGKILL after three seconds; returns when it has ended. Further calls do nothing.
    public func stop() {
        isStopping.store(true, ordering: .sequentiallyConsistent)
        var one: UInt64 = 1
        _ = write(stopDescriptor, &one, 8)
        guard let thread = state.withLock({ $0.thread.take() }) else { return }
        pthread_join(thread, nil)
        files.withLock { $0 }?.removeSocket()
    }

    var configuration: EmbeddedBrokerConfiguration { settings.withLock { $0 } }

    /// Reads users and certificates again, and takes what each user may do from now on; within a second, as the log reports.
    ///
    /// - Parameter done: Called on the supervisor's thread when that is so, or could not be.
    public func reload(
        grants: (@Sendable (_ user: String) -> [AccessList.Grant])?, adapterFilters: [String], discoveryPrefix: String?,
        discoveryDatasets: [String], done: @escaping @Sendable () -> Void = {}
    ) {
        waitingForReload.withLock { $0.append(done) }
        settings.withLock {
            $0.grants = grants
            $0.adapterFilters = adapterFilters
            // Until the next start that counts, too, which is being removed: who reads of it hears so, and nobody else reads it.
            $0.discoveryPrefix = $0.discoveryPrefix ?? discoveryPrefix
            $0.discoveryDatasets += discoveryDatasets.filter { [former = $0.discoveryDatasets] in !former.contains($0) }
        }
        mustReload.store(true, ordering: .sequentiallyConsistent)
    }

    /// The daemon's listener: a unix-domain socket only it can reach. After ``start(timeoutSeconds:)``.
    public var endpoint: MQTTEndpoint {
        guard let files = files.withLock({ $0 }) else {
            preconditionFailure("the endpoint of an embedded broker is known after its start")
        }
        return MQTTEndpoint(unixPath: files.socket)
    }

    /// Whether its listener for the daemon takes batches: ``MQTTLinkConfiguration/brokerTakesBatches``.
    public var takesBatches: Bool { configuration.pluginFile != nil }

    /// Memory in which its plugin hands over live updates; `nil` where it was given none, or has no plugin.
    public var ring: LiveRing? { configuration.pluginFile == nil ? nil : configuration.ring }

    /// The process that runs now; `nil` between two, before the start and after the stop.
    public var processID: Int32? { state.withLock { $0.processID } }

    // MARK: For the supervisor

    func launch(_ executable: String, files: BrokerFiles) throws(EmbeddedBrokerError) -> ChildProcess {
        let ring = self.ring
        ring?.forgetWriter()
        let child = try ChildProcess(
            executable: executable, arguments: ["-c", files.configurationFile], folder: files.memoryDirectory,
            inherited: ring.map { [$0.memoryDescriptor, $0.wakeDescriptor] } ?? [],
            // It stands in for what mosquitto calls for its sockets: `Sockets.c`.
            preloaded: configuration.pluginFile.map(files.pathOfPlugin))
        state.withLock { $0.processID = child.processID }
        try? BrokerFiles.write("\(child.processID)\n", to: files.processFile)
        return child
    }

    func wrote(_ line: String) {
        state.withLock {
            $0.lastLines.append(line)
            if $0.lastLines.count > 8 { $0.lastLines.removeFirst() }
        }
        configuration.log(line)
    }

    func ended(_ status: String, files: BrokerFiles) {
        unlink(files.processFile)
        state.withLock {
            $0.processID = nil
            if !hasStarted.load(ordering: .relaxed), $0.firstExit == nil { $0.firstExit = status }
        }
    }

    // MARK: The start

    private func startSupervisor(_ supervisor: BrokerSupervisor) throws(EmbeddedBrokerError) {
        var thread = pthread_t()
        let retained = Unmanaged.passRetained(supervisor)
        let code = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                // Balances passRetained: the thread owns its supervisor.
                Unmanaged<BrokerSupervisor>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, retained.toOpaque())
        guard code == 0 else {
            retained.release()
            throw .notStarted(reason: "no thread for it: \(String(cString: strerror(code)))")
        }
        state.withLock { $0.thread = thread }
    }

    private func awaitListeners(_ files: BrokerFiles, seconds: Double) throws(EmbeddedBrokerError) {
        let deadline = monotonicNow() + UInt64(max(0, min(seconds, 86400)) * 1e9)
        while true {
            let (exit, lines) = state.withLock { ($0.firstExit, $0.lastLines) }
            if let exit { throw .exitedAtOnce(status: exit, lines: lines) }
            if ListenAddress.accepts(socketPath: files.socket), configuration.addresses.allSatisfy(\.accepts) {
                hasStarted.store(true, ordering: .relaxed)
                return
            }
            guard monotonicNow() < deadline else { throw .notAccepting(seconds: seconds, lines: lines) }
            // The kernel does not report that a port begins to listen.
            usleep(5_000)
        }
    }
}
