import Records
import Wire

/// Who serves what in a cluster.
public struct ClusterStatus: Sendable {
    public struct Node: Sendable {
        public var name: String
        /// `online`, `leaving` or `lost`.
        public var state: String
        public var datasets: Int

        public init(name: String, state: String, datasets: Int) {
            self.name = name
            self.state = state
            self.datasets = datasets
        }
    }

    public struct Dataset: Sendable {
        public var name: String
        /// The last one, where nobody serves it for now; nil where nobody ever did.
        public var owner: String?
        /// Rises with each owner.
        public var epoch: Int64
        /// Nobody serves it for now.
        public var isWaiting: Bool

        public init(name: String, owner: String?, epoch: Int64, isWaiting: Bool) {
            self.name = name
            self.owner = owner
            self.epoch = epoch
            self.isWaiting = isWaiting
        }
    }

    public var nodes: [Node]
    public var datasets: [Dataset]

    public init(nodes: [Node], datasets: [Dataset]) {
        self.nodes = nodes
        self.datasets = datasets
    }
}

// cluster/status

extension Hub {
    func showCluster(_ parameters: Parameters, _ client: RequestingClient) throws(WireError) -> [UInt8] {
        guard configuration.administers(AccessKeyRecord.anyDataset, client) else {
            throw WireError(.unauthorized, "`cluster/status` is for administrators of all datasets")
        }
        guard let status = configuration.clusterStatus?() else {
            throw WireError(.unsupported, "this daemon is alone: it was started without --cluster")
        }
        let datasets = try Page(parameters).encode("datasets", sorting: status.datasets, id: \.name) { dataset in
            JSONWriter.object { writer in
                writer.member("dataset", dataset.name)
                writer.member("owner", orNull: dataset.owner)
                writer.member("epoch", dataset.epoch)
                if dataset.isWaiting { writer.member("waiting", true) }
            }
        }
        var writer = JSONWriter()
        writer.beginArray()
        for node in status.nodes {
            writer.beginObject()
            writer.member("node", node.name)
            writer.member("state", node.state)
            writer.member("datasets", node.datasets)
            writer.endObject()
        }
        writer.endArray()
        // The members of the page come behind the nodes.
        return Array(#"{"nodes":"#.utf8) + writer.bytes + Array(",".utf8) + datasets.dropFirst()
    }
}
