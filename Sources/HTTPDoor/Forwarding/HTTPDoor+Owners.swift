import Datasets
import HTTPTypes
import LiveTopics
import Records

// Which door answers a request: this one, that of a dataset that this node serves, or another node's.

extension HTTPDoor {
    enum Destination: Sendable {
        case here(HTTPDoor)
        case node(address: String)
    }

    func destination(of head: RequestHead) async throws(HTTPRefusal) -> Destination {
        guard let forwarding = configuration.forwarding, head.method != .options, let dataset = dataset(of: head) else {
            try await callers.findKey(of: head)
            return .here(self)
        }
        switch await forwarding.owner(of: dataset) {
        case .here(let door):
            try await door.callers.findKey(of: head)
            return .here(door)
        case .elsewhere(let address):
            // One node forwards, and looks again where the other has not got the dataset: no request goes round.
            guard !head.isForwarded else { throw .moved(dataset) }
            return .node(address: address)
        case .unavailable(let reason): throw .unavailable(reason)
        }
    }

    /// The dataset that a request is about, as far as its head says; whether its caller may name it is the owner's to decide.
    private func dataset(of head: RequestHead) -> String? {
        let name: String? =
            switch head.path.first {
            case "api" where head.path.count > 2, "couch" where head.path.count > 1: head.path[1]
            case "in": datasetOfKey(head) ?? head.parameter("dataset")
            case "v5": world(of: head)
            case _ where head.isMatchSocket: worldOfMatchSocket(head)
            default: nil
            }
        return name.flatMap { Name.isDataset($0) ? $0 : nil }
    }

    private func world(of head: RequestHead) -> String? {
        datasetOfKey(head) ?? head.parameter("dataset") ?? head.credentials.flatMap { JWTSubject.read($0.key) }
    }

    private func worldOfMatchSocket(_ head: RequestHead) -> String? {
        if head.credentials != nil, let world = world(of: head) { return world }
        return head.offeredProtocols.first { $0 != "api-key" } ?? head.parameter("dataset")
    }

    /// The only dataset that a request's key says it is good for; its owner knows whether that is so.
    private func datasetOfKey(_ head: RequestHead) -> String? {
        guard let key = head.credentials?.key, key.utf8.count <= Callers.keyBytesMax else { return nil }
        if let dataset = callers.fileKeys.caller(with: key)?.dataset { return dataset }
        return JWTSubject.name(ofOwn: key).flatMap { $0.dataset == AccessKeyRecord.anyDataset ? nil : $0.dataset }
    }

    /// The doors of the datasets that this node of a cluster serves.
    var servedDoors: [HTTPDoor] { configuration.forwarding?.doors() ?? [] }

    /// What the next node is sent about the caller.
    func forwardingMark(of head: RequestHead) -> String {
        let origin = Forwarding.Origin(isFromLoopback: callers.trusts(head), isEncrypted: head.isEncrypted)
        return configuration.forwarding?.mark(origin, head.method.rawValue, head.target, host: head.host ?? "") ?? ""
    }
}

extension HTTPRefusal {
    fileprivate static func moved(_ dataset: String) -> HTTPRefusal {
        var refusal = unavailable("the dataset `\(dataset.prefix(80))` is moving between nodes: repeat the request")
        refusal.fields[.geomatchMoved] = "true"
        return refusal
    }
}

extension HTTPField.Name {
    fileprivate static let geomatchMoved = HTTPField.Name(Forwarding.movedField)!
}
