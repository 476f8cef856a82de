internal import Wire

/// A connection to geomatch: requests, and what live data and matches are built on.
///
/// ```swift
/// let client = try GeomatchClient(broker: "mqtt://127.0.0.1:1883", dataset: "demo", client: "me")
/// let phone = try await client.devices.create(.mobile(id: "phone")).value
/// await client.close()
/// ```
///
/// It connects with the first request and reconnects by itself until ``close()``. Requests wait for the connection, are
/// sent again after a reconnection, and are carried out once (``GeomatchConfiguration/requestTimeout``). Letting the last
/// reference go closes too. Use it from any task.
public final class GeomatchClient: Sendable {
    let session: Session
    let holder: Int

    /// - Throws: `invalid` for what cannot be a broker's address, a dataset or a client. Nothing is connected yet.
    public init(_ configuration: GeomatchConfiguration) throws(GeomatchError) {
        session = try Session(configuration)
        holder = session.change { $0.nextHolder() }
    }

    /// - Parameters:
    ///   - broker: `mqtt[s]://[user[:password]@]host[:port]`
    ///   - client: The name you are known by. Default: the user in `broker`.
    public convenience init(broker: String, dataset: String, client: String? = nil) throws(GeomatchError) {
        try self.init(GeomatchConfiguration(broker: broker, dataset: dataset, client: client))
    }

    deinit { session.close() }

    public var configuration: GeomatchConfiguration { session.configuration }

    /// The state of the connection.
    public var connectionState: ConnectionState { session.change { $0.phase.state } }

    /// Every change of ``connectionState`` from now on.
    public var connectionStates: BufferedSequence<ConnectionState, Never> {
        let mailbox = Mailbox<ConnectionState, Never>(capacity: 256)
        session.change { $0.states.add(mailbox) }
        return BufferedSequence(mailbox: mailbox)
    }

    /// Whether a daemon is there, as it says itself; nil as long as nothing was heard of one on this connection.
    public var isDaemonOnline: Bool? { session.change { $0.daemon?.isOnline ?? nil } }

    /// Ends the connection and everything on it, and returns when that is done.
    ///
    /// What waits fails with `closed`, sequences end. The client can be used again: the next request connects.
    public func close() async { await close(drain: .zero) }

    /// Sends any request of the daemon and returns its result.
    ///
    /// - Parameters:
    ///   - name: Resource and verb: `device/create`, `dataset/get`.
    ///   - parameters: As the daemon's contract has them.
    ///   - requestID: At most 64 characters. The daemon carries out the same one of the same client once within a day, so
    ///     give your own where a request must survive a restart of your program.
    ///   - timeout: Default: ``GeomatchConfiguration/requestTimeout``.
    /// - Throws: What the daemon answered, or `timeout`, `refused`, `topicRefused`, `closed`, `cancelled`.
    @discardableResult
    public func request(
        _ name: String, parameters: [String: PropertyValue] = [:], requestID: String? = nil, timeout: Duration? = nil
    ) async throws(GeomatchError) -> [String: PropertyValue] {
        var object = PropertyValue.json(of: parameters)
        if let requestID { object["requestId"] = .string(requestID) }
        return PropertyValue.members(of: try await send(name, object, timeout: timeout))
    }

    func send(
        _ name: String, _ parameters: JSONObject, timeout: Duration? = nil, holder: Int? = nil
    ) async throws(GeomatchError) -> JSONObject {
        let timeout = timeout ?? configuration.requestTimeout
        let holder = holder ?? self.holder
        return try await session.wait { core, done in
            core.hold(holder)
            let id = core.request(name, parameters, timeout: timeout, completion: done)
            return { $0.cancelRequest(id, with: .cancelled) }
        }
    }

    /// Publishes a device's live update, as the device itself would, and returns when the broker has it.
    ///
    /// The daemon reads live updates as they come: one that meets no daemon is lost, and a refused one is reported on the
    /// diagnostics topic, not here. Over the daemon's own socket its answer is awaited, and a refusal thrown.
    ///
    /// - Parameter topic: All seven levels; those left out do not apply.
    public func publish(
        _ properties: [String: PropertyValue], on topic: LiveUpdateTopic
    ) async throws(GeomatchError) {
        let timeout = configuration.requestTimeout
        let holder = holder
        let payload = JSONValue.object(PropertyValue.json(of: properties)).serialised()
        _ = try await session.wait { core, done in
            core.hold(holder)
            let id = core.publish(
                Publication(topic: core.topics.update(topic), payload: payload), timeout: timeout, completion: done)
            return { $0.cancelRequest(id, with: .cancelled) }
        }
    }
}
