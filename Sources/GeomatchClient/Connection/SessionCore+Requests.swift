internal import MQTTLink
internal import Wire

/// A request without its reply, or a live update without the broker's acknowledgement.
struct PendingRequest {
    typealias Completion = (Result<JSONObject, GeomatchError>) -> Void

    var number: UInt64
    var id: [UInt8]
    var topic: String
    var payload: [UInt8]
    /// False for what the broker's acknowledgement completes.
    var wantsReply = true
    /// Sent only while this filter stands: its answer, or what follows it, would be missed.
    var requiredFilter: [UInt8]?
    /// Milliseconds since 1970 UTC; `Int64.max` for none.
    var deadline: Int64
    /// The connection it was last sent on.
    var sentOn = 0
    var completion: Completion
}

extension SessionCore {
    /// Sends a request as soon as there is a connection, and again after each reconnection until it is answered: the
    /// daemon carries out one request id once.
    ///
    /// - Parameters:
    ///   - name: `device/create`
    ///   - timeout: From now; nil for as long as it takes.
    ///   - completion: Called once, under the lock.
    /// - Returns: What ``cancelRequest(_:with:)`` takes.
    @discardableResult
    func request(
        _ name: String, _ parameters: JSONObject, requiredFilter: String? = nil, timeout: Duration?,
        completion: @escaping PendingRequest.Completion
    ) -> [UInt8] {
        var parameters = parameters
        let id = parameters["requestId"]?.asString ?? RequestID.new()
        parameters["requestId"] = .string(id)
        let request = PendingRequest(
            number: nextNumber(), id: Array(id.utf8), topic: topics.request(name),
            payload: JSONValue.object(parameters).serialised(), requiredFilter: requiredFilter.map { Array($0.utf8) },
            deadline: timeout.map { WallClock.now() + $0.milliseconds } ?? .max, completion: completion)
        enqueue(request)
        return request.id
    }

    /// Publishes at QoS 1 as soon as there is a connection, and completes when the broker has it.
    @discardableResult
    func publish(
        _ topic: String, _ payload: [UInt8], timeout: Duration, completion: @escaping PendingRequest.Completion
    ) -> [UInt8] {
        let number = nextNumber()
        let request = PendingRequest(
            number: number, id: Self.publicationKey(number), topic: topic, payload: payload, wantsReply: false,
            deadline: WallClock.now() + timeout.milliseconds, completion: completion)
        enqueue(request)
        return request.id
    }

    private func enqueue(_ request: PendingRequest) {
        guard requests.count < Self.requestsMax else {
            return request.completion(
                .failure(GeomatchError(.limit, "\(Self.requestsMax) requests wait for their reply, the maximum")))
        }
        guard requests[request.id] == nil else {
            return request.completion(
                .failure(GeomatchError(.conflict, "a request with this id waits for its reply", field: "requestId")))
        }
        requests[request.id] = request
        nextDeadline = min(nextDeadline, request.deadline)
        sendRequests()
        // The loop must learn of the new deadline.
        wake()
    }

    /// Not UTF-8, so that it is no request's id.
    private static func publicationKey(_ number: UInt64) -> [UInt8] { [0xFF] + Array(String(number).utf8) }

    /// Sends what can be sent and was not on this connection, in the order in which it was asked for.
    func sendRequests() {
        guard phase == .connected else { return }
        let ready = requests.values.filter { request in
            request.sentOn != connection && (request.requiredFilter.map { filters[$0]?.isGranted == true } ?? true)
        }
        for request in ready.sorted(by: { $0.number < $1.number }) {
            requests[request.id]?.sentOn = connection
            order(
                .publish(
                    number: request.number, topic: request.topic, payload: request.payload,
                    correlation: request.wantsReply ? request.id : nil))
        }
    }

    func cancelRequest(_ id: [UInt8], with error: GeomatchError) {
        requests.removeValue(forKey: id)?.completion(.failure(error))
    }

    /// Others who ask as the same client get their replies on the same topic: ours is known by its id.
    func replied(_ payload: JSONValue?, correlation: [UInt8]?) {
        guard let reply = payload?.asObject else { return }
        guard let id = correlation ?? reply["requestId"]?.asString.map({ Array($0.utf8) }),
            let request = requests.removeValue(forKey: id)
        else { return }
        if let result = reply["result"]?.asObject {
            request.completion(.success(result))
        } else if let error = reply["error"] {
            request.completion(.failure(GeomatchError(reply: error)))
        } else {
            request.completion(.failure(.malformed("result", "is missing")))
        }
    }

    func expireRequests(_ now: Int64) {
        guard now >= nextDeadline else { return }
        let expired = requests.values.filter { $0.deadline <= now }.sorted { $0.number < $1.number }
        for request in expired { requests[request.id] = nil }
        nextDeadline = requests.values.map(\.deadline).min() ?? .max
        for request in expired {
            let reason = request.sentOn == 0 ? "the broker \(endpoint.name) was not reached in time" : "no answer in time"
            request.completion(.failure(GeomatchError(.timeout, reason)))
        }
    }

    // MARK: What the broker says of a request

    func published(number: UInt64, _ result: MQTTPublishResult) {
        switch result {
        case .accepted, .notConnected: break
        case .tooLarge: failRequest(number, GeomatchError(.tooLarge, "larger than the broker takes"))
        case .invalidTopic: failRequest(number, GeomatchError(.invalid, "this cannot stand in a topic", field: "request"))
        case .windowFull: failRequest(number, GeomatchError(.limit, "too much waits for the broker's acknowledgement"))
        case .failed(let code): failRequest(number, GeomatchError(.connectionLost, "the MQTT library failed with \(code)"))
        }
    }

    /// 0x10, nobody takes it, is no failure: the daemon may be starting, and its status says when it is there.
    func acknowledged(number: UInt64, reason: UInt8) {
        guard reason >= 0x80 else {
            requests.removeValue(forKey: Self.publicationKey(number))?.completion(.success(JSONObject()))
            return
        }
        failRequest(
            number,
            GeomatchError(
                .topicRefused,
                "the broker refuses the message (reason 0x\(String(reason, radix: 16, uppercase: true))): its access list must "
                    + "let \"\(configuration.client)\" write its topic"))
    }

    private func failRequest(_ number: UInt64, _ error: GeomatchError) {
        guard let request = requests.values.first(where: { $0.number == number }) else { return }
        requests[request.id] = nil
        request.completion(.failure(error))
    }
}

/// The ids this library gives its requests.
enum RequestID {
    static func new() -> String {
        String(UInt64.random(in: 0 ... .max), radix: 36) + String(UInt64.random(in: 0 ... .max), radix: 36)
    }
}
