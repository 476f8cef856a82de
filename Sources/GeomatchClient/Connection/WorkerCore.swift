package import MQTTValues

/// Something that reads or publishes much: called on the connection's thread, so that nothing is queued on the way.
///
/// It is called under the session's lock, which guards its state too; it asks nothing of the client meanwhile. What takes it
/// long, as printing, slows the connection down, and the broker learns of it.
package protocol ConnectionWorker: AnyObject, Sendable {
    /// Subscribed to on each connection.
    var filters: [String] { get }
    /// There is a connection, and the filters are granted: at first, and after each reconnection.
    func connected()
    /// The connection is lost, and tried again.
    func lost(_ error: GeomatchError)
    func received(_ message: InboundMessage)
    /// After the last message of what came together.
    func receivedAll()
    /// - Parameter token: As it was given to the link, from ``WorkerLink``.
    func acknowledged(token: UInt64, reason: UInt8)
    /// - Returns: When it wants its next turn, milliseconds since 1970 UTC; nil where it is done.
    func turn(_ link: WorkerLink, now: Int64) throws(GeomatchError) -> Int64?
}

extension ConnectionWorker {
    package var filters: [String] { [] }
    package func connected() {}
    package func lost(_ error: GeomatchError) {}
    package func received(_ message: InboundMessage) {}
    package func receivedAll() {}
    package func acknowledged(token: UInt64, reason: UInt8) {}
}

/// What a worker publishes with.
package struct WorkerLink {
    private let link: any ClientLink

    init(_ link: any ClientLink) { self.link = link }

    package var isConnected: Bool { link.isConnected }
    /// QoS 0 messages that wait for the socket.
    package var queuedMessages: Int { link.queuedMessages }
    /// QoS 1 messages without their acknowledgement.
    package var unacknowledged: Int { link.unacknowledged }

    /// - Parameter token: What the acknowledgement of a message at QoS 1 is known by, below 2⁶³.
    /// - Returns: False where the connection takes no more at present.
    package func publish(
        topic: String, payload: [UInt8], qos: Int32 = 0, token: UInt64 = 0
    ) throws(GeomatchError) -> Bool {
        let message = Publication(topic: topic, payload: payload, qos: qos)
        switch link.send(message, token: token + WorkerCore.tokenMin, correlation: nil) {
        case .accepted: return true
        case .notConnected, .windowFull: return false
        case let result: throw GeomatchError(.internal, "a message could not be published: \(result)")
        }
    }
}

/// A worker on its session.
final class WorkerCore: SessionComponent {
    typealias Done = @Sendable (Result<Bool, GeomatchError>) -> Void

    /// Tokens of requests lie below.
    static let tokenMin: UInt64 = 1 << 63

    private let worker: any ConnectionWorker
    private var done: Done?
    private var number = 0
    /// The connection that the worker knows of.
    private var connection = 0
    /// Until when the first one is waited for, on ``SteadyClock``.
    private var deadline = Int64.max

    init(_ worker: any ConnectionWorker, _ done: @escaping Done) {
        self.worker = worker
        self.done = done
    }

    /// - Returns: What it is known by on the session.
    func begin(_ core: SessionCore) -> Int {
        deadline = SteadyClock.now() + core.configuration.requestTimeout.milliseconds
        number = core.add(self)
        for filter in worker.filters { core.addFilter(filter, component: number) }
        core.hold(number)
        core.wake()
        return number
    }

    func end(_ result: Result<Bool, GeomatchError>, _ core: SessionCore) {
        guard let done else { return }
        self.done = nil
        core.components[number] = nil
        for filter in worker.filters { core.removeFilter(filter) }
        done(result)
    }

    /// Notifies the worker of a connection on which everything it subscribed to was granted.
    private func greet(_ core: SessionCore) {
        guard core.phase == .connected, core.connection != connection,
            worker.filters.allSatisfy({ core.filters[Array($0.utf8)]?.isGranted == true })
        else { return }
        connection = core.connection
        deadline = .max
        worker.connected()
    }

    func stateChanged(_ state: ConnectionState, _ core: SessionCore) { greet(core) }
    func recover(_ core: SessionCore) {}
    func failed(_ error: GeomatchError, _ core: SessionCore) { end(.failure(error), core) }
    func filterRefused(_ filter: String, _ error: GeomatchError, _ core: SessionCore) { end(.failure(error), core) }
    func troubled(_ error: GeomatchError) { worker.lost(error) }
    func received(_ message: InboundMessage, _ core: SessionCore) { if done != nil { worker.received(message) } }
    func receivedAll() { worker.receivedAll() }
    func acknowledged(token: UInt64, reason: UInt8) { worker.acknowledged(token: token, reason: reason) }

    func tick(_ now: Int64, _ core: SessionCore) -> Int64 {
        greet(core)
        guard done != nil, let link = core.link else { return .max }
        if now >= deadline {
            let within = core.configuration.requestTimeout.text
            end(.failure(GeomatchError(.timeout, "\(core.configuration.brokerName) does not answer within \(within)")), core)
            return .max
        }
        guard connection > 0 else { return deadline }
        do throws(GeomatchError) {
            let time = WallClock.now()
            if let next = try worker.turn(WorkerLink(link), now: time) { return next == .max ? .max : now + (next - time) }
            end(.success(true), core)
        } catch {
            end(.failure(error), core)
        }
        return .max
    }
}
