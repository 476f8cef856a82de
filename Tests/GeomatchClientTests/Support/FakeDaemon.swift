import Foundation
import Synchronization
import struct Wire.JSONObject
import enum Wire.JSONValue

@testable import GeomatchClient
@testable import MQTTLink

/// Stands in for geomatchd: answers requests as configured, carries each request id out once, and keeps live
/// subscriptions and live states in their simplest form.
final class FakeDaemon: MQTTLinkHandler, @unchecked Sendable {
    struct Request: Sendable, Equatable {
        /// `device/create`
        var name: String
        var dataset: String
        var client: String
        var id: String
        var parameters: JSONObject
    }

    enum Answer: Sendable {
        case result(JSONObject)
        case error(JSONObject)
        case silence
    }

    private struct State {
        var answers: [String: [Answer]] = [:]
        var neverAnswered: Set<String> = []
        var replies: [String: [UInt8]] = [:]
        var carriedOut: [String] = []
        /// Topics of live subscriptions.
        var live: [String] = []
        var states: [(topic: String, payload: String)] = []
        var orders: [@Sendable (FakeDaemon) -> Void] = []
        var followers: [String: @Sendable (Request) -> (topic: String, payload: String)] = [:]
    }

    /// Guards what is shared; the link belongs to its thread.
    private let state = Mutex(State())
    private let received = Mailbox<Request, Never>(capacity: 100_000)
    private let ready = Mailbox<Void, Never>(capacity: 100)
    private let ended = DispatchSemaphore(value: 0)
    private static let onlineToken: UInt64 = 1
    private let instance: String
    private var link: MQTTLink?

    init(_ broker: TestBroker, instance: String = "first") throws {
        self.instance = instance
        var settings = MQTTLinkConfiguration(
            endpoint: broker.endpoint, clientID: "daemon-\(instance)",
            will: MQTTWill(topic: "geomatch/status", payload: Array(Self.status("offline", instance).utf8)))
        settings.backoffMinimumSeconds = 0.02
        settings.backoffMaximumSeconds = 0.1
        let link = try MQTTLink(configuration: settings, handler: self)
        self.link = link
        Thread { [self] in
            link.run()
            ended.signal()
        }.start()
    }

    private static func status(_ state: String, _ instance: String) -> String {
        #"{"state":"\#(state)","version":"test","instance":"\#(instance)","startedAt":0}"#
    }

    // MARK: For tests

    /// Waits for its next `online`.
    func isReady() async { _ = await ready.next() }

    /// The next answers to a request, before what it does by itself.
    func answer(_ name: String, _ answers: Answer...) {
        state.withLock { $0.answers[name, default: []] += answers }
    }

    /// Requests of this name get no reply, however often one comes: a connection that is lost has the client repeat it.
    func neverAnswer(_ name: String) { state.withLock { _ = $0.neverAnswered.insert(name) } }

    /// What is published after each reply to a request of this name.
    func follow(_ name: String, with message: @escaping @Sendable (Request) -> (topic: String, payload: String)) {
        state.withLock { $0.followers[name] = message }
    }

    /// The next request of this name; others before it are passed over.
    func request(_ name: String) async -> Request {
        while let request = await received.next() { if request.name == name { return request } }
        return Request(name: "", dataset: "", client: "", id: "", parameters: JSONObject())
    }

    /// How often each name was carried out.
    func timesCarriedOut(_ name: String) -> Int { state.withLock { $0.carriedOut.count { $0 == name } } }

    /// Makes a live state, and sends it to every live subscription.
    func update(_ topic: String, _ properties: String, left: Bool = false, timestamp: Int = 1000) {
        let item = topic.split(separator: "/").dropLast().last { $0 != "-" } ?? ""
        let domain = topic.split(separator: "/").last ?? ""
        let payload =
            #"{"topic":"\#(topic)","domainType":"\#(domain)","itemId":"\#(item)","timestamp":\#(timestamp),"#
            + #""receivedAt":2000,"properties":\#(properties)\#(left ? #","left":true"# : "")}"#
        order { daemon in
            let live = daemon.state.withLock { state in
                state.states.removeAll { $0.topic == topic }
                if !left { state.states.append((topic, payload)) }
                return state.live
            }
            for target in live { daemon.publish(target, payload) }
        }
    }

    /// Forgets a live state silently, as while nobody listens.
    func forget(_ topic: String) { state.withLock { $0.states.removeAll { $0.topic == topic } } }

    func tell(_ topic: String, _ payload: String) { order { $0.publish(topic, payload) } }

    /// Goes without a word, as a killed one does: the broker says its will.
    func end() {
        // The will is not said after a goodbye, so it says the same itself.
        order { $0.publish("geomatch/status", Self.status("offline", $0.instance), retain: true) }
        link?.stop(drainSeconds: 1)
        ended.wait()
    }

    private func order(_ order: @escaping @Sendable (FakeDaemon) -> Void) {
        state.withLock { $0.orders.append(order) }
        link?.wake()
    }

    private func publish(_ topic: String, _ payload: String, retain: Bool = false, correlation: [UInt8]? = nil) {
        _ = link?.publish(topic: topic, payload: payload.utf8, qos: 1, retain: retain, correlation: correlation)
    }

    // MARK: Answering

    private func handle(_ request: Request, correlation: [UInt8]?) {
        let key = "\(request.client)/\(request.id)"
        let reply = "geomatch/\(request.dataset)/\(request.client)/reply"
        if let known = state.withLock({ $0.replies[key] }) {
            return publish(reply, String(decoding: known, as: UTF8.self), correlation: correlation)
        }
        let given = state.withLock { state -> Answer? in
            guard !state.neverAnswered.contains(request.name) else { return .silence }
            guard state.answers[request.name]?.isEmpty == false else { return nil }
            return state.answers[request.name]?.removeFirst()
        }
        state.withLock { $0.carriedOut.append(request.name) }
        var members: JSONObject = ["requestId": .string(request.id), "request": .string(request.name)]
        switch given ?? itself(request) {
        case .result(let result): members["result"] = .object(result)
        case .error(let error): members["error"] = .object(error)
        case .silence: return
        }
        let payload = JSONValue.object(members).serialised()
        state.withLock { $0.replies[key] = payload }
        publish(reply, String(decoding: payload, as: UTF8.self), correlation: correlation)
        if request.name == "live/subscribe", members["result"] != nil { sendSnapshot(request) }
        if let follower = state.withLock({ $0.followers[request.name] }) {
            let message = follower(request)
            publish(message.topic, message.payload)
        }
    }

    private func itself(_ request: Request) -> Answer {
        let id = request.parameters["id"]?.asString ?? "made"
        switch request.name {
        case "live/subscribe":
            let topic = "geomatch/\(request.dataset)/\(request.client)/live/\(id)"
            let count = state.withLock { state in
                if !state.live.contains(topic) { state.live.append(topic) }
                return request.parameters["snapshot"]?.asBool == false ? 0 : state.states.count
            }
            return .result([
                "id": .string(id), "topic": .string(topic), "snapshot": .integer(Int64(count)), "leaseUntil": 0,
            ])
        case "live/unsubscribe":
            state.withLock { $0.live.removeAll { $0.hasSuffix("/live/\(id)") } }
            return .result(["id": .string(id), "state": "deleted"])
        case "match/list": return .result(["matches": []])
        default:
            var object = request.parameters
            object["id"] = .string(id)
            object["requestId"] = nil
            return .result(object)
        }
    }

    private func sendSnapshot(_ request: Request) {
        guard request.parameters["snapshot"]?.asBool != false, let id = request.parameters["id"]?.asString else { return }
        for (_, payload) in state.withLock({ $0.states }) {
            publish("geomatch/\(request.dataset)/\(request.client)/live/\(id)", payload)
        }
    }

    // MARK: MQTTLinkHandler

    func linkConnected(sessionPresent: Bool, protocolVersion: Int) { link?.subscribe([("geomatch/+/+/request/+/+", 1)]) }

    func linkSubscribed(id: Int32, granted: [UInt8]) {
        _ = link?.publish(
            topic: "geomatch/status", payload: Self.status("online", instance).utf8, qos: 1, retain: true, token: Self.onlineToken
        )
    }

    func linkReceived(_ batch: InboundBatch) {
        for index in 0..<batch.count {
            let levels = String(decoding: batch[index].topic, as: UTF8.self).split(separator: "/")
            guard levels.count == 6, let parameters = (try? JSONValue.parse(batch[index].payload))?.asObject else { continue }
            let request = Request(
                name: "\(levels[4])/\(levels[5])", dataset: String(levels[1]), client: String(levels[2]),
                id: parameters["requestId"]?.asString ?? "", parameters: parameters)
            received.send(request)
            handle(request, correlation: batch[index].correlation.map { Array($0) })
        }
    }

    func linkUnsubscribed(id: Int32) {}
    /// The broker retains that it is online: who hears so as it comes repeats what was asked before.
    func linkAcknowledged(token: UInt64, reason: UInt8) { if token == Self.onlineToken { ready.send(()) } }
    func linkDisconnected(_ reason: MQTTDisconnect) {}
    func linkWoken() { carryOut() }
    func linkTick(now: Int64) -> Int64 {
        if link?.isConnected == true { carryOut() }
        return .max
    }

    private func carryOut() {
        let orders = state.withLock { state in
            defer { state.orders.removeAll() }
            return state.orders
        }
        for order in orders { order(self) }
    }
}
