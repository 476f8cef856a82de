import MQTTLink
import Wire

/// One request and its reply.
///
/// The reply topic is subscribed to, and the broker's answer to that awaited, before the request goes out: a quick daemon
/// would otherwise answer to nobody. Others who ask as the same client get their replies on the same topic, so a reply
/// counts only with our id or, with MQTT 5, our correlation data.
final class RequestExchange: Conversation {
    private let resource: String
    private let verb: String
    private let parameters: JSONObject
    private let requestID: String
    private(set) var reply: JSONObject?
    private var wasSent = false

    init(_ destination: Destination, resource: String, verb: String, parameters: JSONObject) {
        self.resource = resource
        self.verb = verb
        var parameters = parameters
        if let own = parameters["requestId"]?.asString {
            requestID = own
        } else {
            requestID =
                "cli-" + String(UInt64.random(in: 0 ... .max), radix: 16) + String(UInt64.random(in: 0 ... .max), radix: 16)
            // An id of another type goes out as it is, to be refused by the daemon.
            if parameters["requestId"] == nil { parameters["requestId"] = .string(requestID) }
        }
        self.parameters = parameters
        super.init(destination)
    }

    override func connected() { subscribe([destination.topics.reply], qos: 1) }

    override func subscribed() {
        let result = link?.publish(
            topic: destination.topics.request(resource, verb), payload: JSONValue.object(parameters).serialised(), qos: 1,
            correlation: Array(requestID.utf8))
        switch result {
        case .accepted?: wasSent = true
        case .tooLarge?: end(.usage("the request is larger than the broker allows"))
        case .invalidTopic?: end(.usage("\(resource)/\(verb) cannot stand in a topic"))
        default: end(.unavailable("the request could not be sent"))
        }
    }

    override func acknowledged(token: UInt64, reason: UInt8) {
        switch reason {
        case 0x10:
            end(.unavailable("nobody takes requests of \(destination.topics.dataset) at this broker.\n\(hint)"))
        case 0x80...:
            let shown = String(reason, radix: 16, uppercase: true)
            end(
                .unavailable(
                    "the broker refuses the request (reason 0x\(shown)): its access list must let "
                        + "\"\(destination.topics.client)\" write \(destination.topics.request(resource, verb))"))
        default: break
        }
    }

    override func received(_ message: InboundMessage) {
        guard !message.retain else { return }
        guard case .object(let object)? = try? JSONValue.parse(message.payload) else { return }
        let isOurs: Bool
        if let correlation = message.correlation {
            isOurs = correlation.elementsEqual(requestID.utf8)
        } else {
            isOurs = object["requestId"]?.asString.map { $0.utf8.elementsEqual(requestID.utf8) } ?? false
        }
        guard isOurs else { return }
        reply = object
        end(drainSeconds: 1)
    }

    override func timedOut() {
        guard wasSent else { return super.timedOut() }
        end(.unavailable("no reply within \(destination.timeoutText).\n\(hint)\n\(repeating)"))
    }

    override func connectionLost(_ reason: MQTTDisconnect) {
        end(.unavailable("\(destination.endpoint.name): \(reason)\(wasSent ? "\n\(repeating)" : "")"))
    }

    private var hint: String { "Is geomatchd running? `geomatch status` tells." }
    private var repeating: String {
        "It may still be carried out: repeat it with requestId=\(requestID) to have it done only once."
    }
}
