internal import MQTTValues
internal import Wire

/// A message to the broker.
struct Publication: Sendable {
    var topic: String
    var payload: [UInt8]
    /// 0, or 1 with the broker's acknowledgement.
    var qos: Int32 = 1
    var retain = false
}

/// A request without its reply, or a live update without the broker's acknowledgement.
struct PendingRequest {
    /// Given the whole reply, an error reply too.
    typealias Completion = (Result<JSONObject, GeomatchError>) -> Void

    var number: UInt64
    var id: [UInt8]
    var message: Publication
    /// False for what the broker's acknowledgement completes.
    var wantsReply = true
    /// It fails where the broker says that nobody takes it.
    var needsReader = false
    /// Sent only while this filter is granted: its answer, or what follows it, would be missed.
    var requiredFilter: [UInt8]?
    /// On ``SteadyClock``; `Int64.max` for none.
    var deadline: Int64
    var timeout: Duration?
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
        return exchange(
            name, id: id, JSONValue.object(parameters).serialised(), requiredFilter: requiredFilter, timeout: timeout
        ) { completion($0.flatMap(Self.result)) }
    }

    /// The same with a payload as it is, which holds `id` as its `requestId`; it completes with the whole reply.
    @discardableResult
    func exchange(
        _ name: String, id: String, _ payload: [UInt8], requiredFilter: String? = nil, timeout: Duration?,
        completion: @escaping PendingRequest.Completion
    ) -> [UInt8] {
        expectReplies()
        let request = PendingRequest(
            number: nextNumber(), id: Array(id.utf8), message: Publication(topic: topics.request(name), payload: payload),
            needsReader: configuration.isForCommand && timeout != nil,
            requiredFilter: Array((requiredFilter ?? topics.reply).utf8),
            deadline: timeout.map { SteadyClock.now() + $0.milliseconds } ?? .max, timeout: timeout, completion: completion)
        enqueue(request)
        return request.id
    }

    private static func result(of reply: JSONObject) -> Result<JSONObject, GeomatchError> {
        if let result = reply["result"]?.asObject { return .success(result) }
        return .failure(reply["error"].map(GeomatchError.init(reply:)) ?? .malformed("result", "is missing"))
    }

    /// Publishes as soon as there is a connection, and completes when the broker has it; at QoS 0 when it is on its way.
    @discardableResult
    func publish(
        _ message: Publication, timeout: Duration, completion: @escaping PendingRequest.Completion
    ) -> [UInt8] {
        let number = nextNumber()
        let request = PendingRequest(
            number: number, id: Self.publicationKey(number), message: message, wantsReply: false,
            deadline: SteadyClock.now() + timeout.milliseconds, timeout: timeout, completion: completion)
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
                    number: request.number, request.message, correlation: request.wantsReply ? request.id : nil))
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
        request.completion(.success(reply))
    }

    func expireRequests(_ now: Int64) {
        guard now >= nextDeadline else { return }
        let expired = requests.values.filter { $0.deadline <= now }.sorted { $0.number < $1.number }
        for request in expired { requests[request.id] = nil }
        nextDeadline = requests.values.map(\.deadline).min() ?? .max
        for request in expired {
            let within = "within \(request.timeout?.text ?? "its time")"
            let reason = request.sentOn == 0 ? "\(configuration.brokerName) was not reached \(within)" : "no reply \(within)"
            request.completion(.failure(GeomatchError(.timeout, reason)))
        }
    }

    // MARK: What the broker says of a request

    func published(number: UInt64, _ result: MQTTPublishResult) {
        switch result {
        case .accepted: requests.removeValue(forKey: Self.publicationKey(number))?.completion(.success(JSONObject()))
        case .notConnected: break
        case .tooLarge: failRequest(number, GeomatchError(.tooLarge, "larger than the broker takes"))
        case .invalidTopic: failRequest(number, GeomatchError(.invalid, "this cannot be in a topic", field: "request"))
        case .windowFull: failRequest(number, GeomatchError(.limit, "too much waits for the broker's acknowledgement"))
        case .failed(let code): failRequest(number, GeomatchError(.connectionLost, "the MQTT library failed with \(code)"))
        }
    }

    /// The daemon itself refused a live update.
    func refused(number: UInt64, _ error: GeomatchError) {
        guard number >= WorkerCore.tokenMin else { return failRequest(number, error) }
        worker?.acknowledged(token: number - WorkerCore.tokenMin, reason: 0x83)
    }

    /// 0x10, nobody takes it, is a failure only for a command: the daemon may be starting, and its status says when it is there.
    func acknowledged(number: UInt64, reason: UInt8) {
        if number >= WorkerCore.tokenMin {
            worker?.acknowledged(token: number - WorkerCore.tokenMin, reason: reason)
            return
        }
        guard reason == 0x10 || reason >= 0x80 else {
            requests.removeValue(forKey: Self.publicationKey(number))?.completion(.success(JSONObject()))
            return
        }
        guard let request = request(number: number) else { return }
        if reason >= 0x80 {
            failRequest(
                number,
                GeomatchError(
                    .topicRefused,
                    "the broker refuses the \(request.wantsReply ? "request" : "message") "
                        + "(reason 0x\(String(reason, radix: 16, uppercase: true))): its access list must let "
                        + "\"\(configuration.client)\" write \(request.message.topic)"))
        } else if !request.wantsReply {
            requests.removeValue(forKey: request.id)?.completion(.success(JSONObject()))
        } else if request.needsReader {
            failRequest(
                number, GeomatchError(.unread, "no geomatchd reads requests of \(configuration.dataset) at this broker"))
        }
    }

    private func request(number: UInt64) -> PendingRequest? { requests.values.first { $0.number == number } }

    private func failRequest(_ number: UInt64, _ error: GeomatchError) {
        guard let request = request(number: number) else { return }
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
