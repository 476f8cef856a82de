internal import MQTTValues
package import Wire

// What the command-line client needs beyond applications: messages as they are, and replies whole.

extension GeomatchClient {
    /// Sends a request, and returns its whole reply, an error reply too.
    package func reply(
        to name: String, _ parameters: JSONObject, timeout: Duration? = nil
    ) async throws(GeomatchError) -> JSONObject {
        var parameters = parameters
        let id = parameters["requestId"]?.asString ?? RequestID.new()
        // An id of another type goes out as it is, to be refused by the daemon.
        if parameters["requestId"] == nil { parameters["requestId"] = .string(id) }
        return try await ask(name, id: id, JSONValue.object(parameters).serialised(), timeout: timeout).get()
    }

    /// Sends a request with a payload as it is, which holds `id` as its `requestId`, after those that were asked before.
    package func ask(_ name: String, id: String, _ payload: [UInt8], timeout: Duration? = nil) -> PendingReply {
        let timeout = timeout ?? configuration.requestTimeout
        let mailbox = Mailbox<Result<JSONObject, GeomatchError>, Never>(capacity: 1)
        let key = session.change { core in
            core.hold(holder)
            return core.exchange(name, id: id, payload, timeout: timeout) { mailbox.send($0) }
        }
        return PendingReply(session: session, key: key, mailbox: mailbox)
    }

    /// Publishes a message as it is, and returns when the broker has it; at QoS 0 when it is on its way.
    package func publish(
        topic: String, payload: [UInt8], qos: Int, retain: Bool
    ) async throws(GeomatchError) {
        let timeout = configuration.requestTimeout
        let holder = holder
        let message = Publication(topic: topic, payload: payload, qos: Int32(qos), retain: retain)
        _ = try await session.wait { core, done in
            core.hold(holder)
            let id = core.publish(message, timeout: timeout, completion: done)
            return { $0.cancelRequest(id, with: .cancelled) }
        }
    }

    /// Lets `worker` read and publish on the connection's thread until it is done.
    package func run(_ worker: some ConnectionWorker) async throws(GeomatchError) {
        let _: Bool = try await session.wait { core, done in
            let number = WorkerCore(worker, done).begin(core)
            return { ($0.components[number] as? WorkerCore)?.end(.failure(.cancelled), $0) }
        }
    }

    /// Ends the connection when what was published has reached the broker, at most after so long.
    package func close(drain: Duration) async {
        let states = connectionStates
        session.close(drainSeconds: Double(drain.milliseconds) / 1000)
        guard connectionState != .closed else { return }
        for await state in states where state == .closed { return }
    }
}

/// A request that is on its way.
package struct PendingReply: Sendable {
    let session: Session
    let key: [UInt8]
    let mailbox: Mailbox<Result<JSONObject, GeomatchError>, Never>

    /// Waits for the whole reply; once.
    package func get() async throws(GeomatchError) -> JSONObject {
        guard let result = await mailbox.next() else {
            session.change { $0.cancelRequest(key, with: .cancelled) }
            throw .cancelled
        }
        return try result.get()
    }
}
