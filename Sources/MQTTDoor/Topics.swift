import Datasets
import LiveTopics

/// The topics that geomatch speaks on: the only place where they are spelled.
public struct Topics: Sendable {
    /// Put before each of the three trees; empty, or ends with `/`.
    public let prefix: String
    /// Before the seven levels of a live state.
    let live: [UInt8]
    /// Before dataset and client.
    let tree: [UInt8]

    public init(prefix: String) {
        self.prefix = prefix
        live = Array("\(prefix)live/".utf8)
        tree = Array("\(prefix)\(Self.root)".utf8)
    }

    private static let root = "geomatch/"

    /// What the core may say of topics; without the prefix.
    public var naming: Naming {
        Naming(root: Self.root) { dataset, client in "\(Self.root)\(dataset)/\(client)/" }
    }

    // MARK: What comes in

    package enum Incoming {
        /// `geomatch/{dataset}/{client}/request/{resource}/{verb}`, with any number of levels behind `request`.
        case request(dataset: String, client: String, name: String)
        /// Below `geomatch/{dataset}/`, and meant as a request: levels are missing, or it is `requests`.
        case malformedRequest(dataset: String)
        /// The seven levels, or what should be.
        case update(UnsafeRawBufferPointer)
        /// Nothing for us.
        case other
    }

    package func read(_ topic: UnsafeRawBufferPointer) -> Incoming {
        guard let topic = topic.dropping(prefix: prefix) else { return .other }
        if topic.hasFirstLevel("live") { return .other }
        guard topic.hasFirstLevel("geomatch") else { return .update(topic) }
        var rest = topic.dropFirst("geomatch/".utf8.count)
        guard let dataset = rest.removeLevel() else { return .other }
        guard let client = rest.removeLevel() else {
            return rest.elementsEqual("request".utf8) ? .malformedRequest(dataset: dataset.text) : .other
        }
        let name: Slice<UnsafeRawBufferPointer>
        let below = rest
        let kind = rest.removeLevel() ?? rest
        guard kind.elementsEqual("request".utf8) else {
            // At most five levels, or another word.
            let isShort = !rest.contains(UInt8(ascii: "/")) || kind.count == below.count
            let isMeant = kind.elementsEqual("requests".utf8) || client.elementsEqual("request".utf8) && isShort
            return isMeant ? .malformedRequest(dataset: dataset.text) : .other
        }
        let hasName = kind.count < below.count
        // Diagnostics about requests come back by the filter of requests.
        if !hasName, client.elementsEqual("diagnostics".utf8) { return .other }
        name = hasName ? rest : rest.suffix(0)
        return .request(dataset: dataset.text, client: client.text, name: name.text)
    }

    /// Whether what follows `request` is `{resource}/{verb}`, known or not.
    package static func isRequestName(_ name: String) -> Bool {
        let levels = name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return levels.count == 2 && levels.allSatisfy { !$0.isEmpty }
    }

    /// The seven levels of a live state that is kept at the broker; nil for other topics.
    package func liveState(_ topic: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        guard let topic = topic.dropping(prefix: prefix), topic.hasFirstLevel("live"), topic.count > 5 else { return nil }
        return UnsafeRawBufferPointer(rebasing: topic[5...])
    }

    /// Where a client makes its requests.
    func requests(of client: String, in dataset: String) -> String { "\(prefix)\(Self.root)\(dataset)/\(client)/request/" }

    // MARK: What leaves

    /// How a message goes out, beside its topic and payload.
    package struct Sending {
        package var qos: Int32
        package var retain = false
        package var token: UInt64 = 0
        package var correlation: ArraySlice<UInt8>?
    }

    /// Spells the topic of what leaves, with the prefix.
    ///
    /// - Parameters:
    ///   - bytes: Of the batch that it is in.
    ///   - door: Whose replies are to go out.
    /// - Returns: nil where it does not go out here.
    package func spell(
        _ item: Output, _ bytes: UnsafeRawBufferPointer, liveQoS: Int32, door: Int, into topic: inout [UInt8]
    ) -> Sending? {
        switch item.kind {
        case .liveState:
            topic += live
            topic += bytes[item.name]
            return Sending(qos: liveQoS, retain: true)
        case .notification(let notification):
            let recipient = notification.recipient
            topic += tree
            topic += recipient.dataset.utf8
            topic.append(UInt8(ascii: "/"))
            topic += recipient.client.utf8
            topic.append(UInt8(ascii: "/"))
            topic += recipient.path.utf8
            return Sending(qos: notification.isAssured ? 1 : 0, token: notification.token)
        case .reply(let address):
            guard address.door == door else { return nil }
            let address = MQTTReturnAddress(address)
            topic += address.topic
            return Sending(qos: 1, correlation: address.correlation)
        case .diagnostic(let kind):
            topic += tree
            topic += bytes[item.name]
            topic += "/diagnostics/".utf8
            topic += kind.utf8
            return Sending(qos: 0)
        case .status:
            topic += tree
            topic += bytes[item.name]
            topic += "/status".utf8
            return Sending(qos: 1, retain: true)
        // Each of its receivers has a topic of its own.
        case .audience, .feedChange: return nil
        }
    }

    /// The response topic where it lies in the client's own tree, else `…/reply`: the daemon is no way around the broker's permissions.
    package func reply(dataset: String, client: String, responseTopic: UnsafeRawBufferPointer?) -> String {
        let own = "\(prefix)\(Self.root)\(dataset)/\(client)/"
        // `geomatch/d/diagnostics/` and its like are the tree of no client.
        guard let responseTopic, responseTopic.count <= 1024, Name.isClient(client), Name.isDataset(dataset) else {
            return own + "reply"
        }
        let asked = String(decoding: responseTopic, as: UTF8.self)
        guard asked.utf8.elementsEqual(responseTopic), asked.utf8.starts(with: own.utf8),
            !asked.utf8.contains(where: { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "#") || $0 == 0 })
        else { return own + "reply" }
        let below = asked.utf8.dropFirst(own.utf8.count)
        let first = below.prefix { $0 != UInt8(ascii: "/") }
        guard !below.isEmpty, !first.elementsEqual("request".utf8) else { return own + "reply" }
        return asked
    }

    /// Whose a reply is, by the topic that it goes to.
    package func recipient(of answer: ReturnAddress) -> Recipient? {
        let topic = MQTTReturnAddress(answer).topic
        guard topic.starts(with: tree) else { return nil }
        let levels = topic.dropFirst(tree.count).split(
            separator: UInt8(ascii: "/"), maxSplits: 2, omittingEmptySubsequences: false)
        guard levels.count == 3 else { return nil }
        let (dataset, client) = (String(decoding: levels[0], as: UTF8.self), String(decoding: levels[1], as: UTF8.self))
        return Recipient(dataset, client, path: String(decoding: levels[2], as: UTF8.self))
    }

    /// What every request comes on.
    var anyRequest: String { "\(prefix)\(Self.root)+/+/request/…" }
    /// How requests and everything that the daemon reports begin; no live topic begins so.
    var reserved: String { "\(prefix)\(Self.root)" }
    /// The daemon's own state.
    public var status: String { "\(prefix)\(Self.root)status" }
    /// Where the daemon's own mark and probe are: no dataset can have this name.
    var own: String { "\(prefix)\(Self.root)geomatch/" }

    func mark(_ instance: String) -> String { "\(own)mark/\(instance)" }
    /// Where a session of a cluster says which datasets it has.
    func notice(_ session: String) -> String { "\(own)notice/\(session)" }
    /// The state of a node of a cluster, and where messages are passed on to it.
    public func status(of node: String) -> String { "\(status)/\(node)" }
    public func inbox(of node: String, in instance: String) -> String { "\(own)route/\(instance)/\(node)" }
    func probe(_ instance: String) -> String { "\(own)\(instance)/request/probe/" }
}

extension UnsafeRawBufferPointer {
    /// Without the prefix; nil where it is missing.
    func dropping(prefix: String) -> UnsafeRawBufferPointer? {
        let length = prefix.utf8.count
        if length == 0 { return self }
        guard count >= length, zip(self, prefix.utf8).allSatisfy({ $0 == $1 }) else { return nil }
        return UnsafeRawBufferPointer(rebasing: self[length...])
    }

    func hasFirstLevel(_ level: StaticString) -> Bool {
        let length = level.utf8CodeUnitCount
        guard count >= length else { return false }
        for index in 0..<length where self[index] != level.utf8Start[index] { return false }
        return count == length || self[length] == UInt8(ascii: "/")
    }
}

extension Slice<UnsafeRawBufferPointer> {
    /// Removes the first level and the `/` behind it; nil where there is no `/`.
    fileprivate mutating func removeLevel() -> Slice<UnsafeRawBufferPointer>? {
        guard let end = firstIndex(of: UInt8(ascii: "/")) else { return nil }
        defer { self = self[(end + 1)...] }
        return self[..<end]
    }

    /// What is no UTF-8 becomes U+FFFD.
    fileprivate var text: String { String(decoding: UnsafeRawBufferPointer(rebasing: self), as: UTF8.self) }
}
