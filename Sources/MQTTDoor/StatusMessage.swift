import Wire
import Records

/// `geomatch/status`: retained, and the daemon's last will.
public struct StatusMessage: Sendable {
    public var version: String
    public var instance: String
    public var startedAt: Int64

    public init(version: String, instance: String, startedAt: Int64) {
        self.version = version
        self.instance = instance
        self.startedAt = startedAt
    }

    /// - Parameter node: Of a node of a cluster, how many datasets it serves, and how often it took over a shard.
    public func encode(isOnline: Bool, error: String? = nil, node: (datasets: Int, epochs: Int)? = nil) -> [UInt8] {
        JSONWriter.object { writer in
            writer.key("state")
            writer.string(isOnline ? "online" : "offline")
            writer.key("version")
            writer.string(version)
            writer.key("instance")
            writer.string(instance)
            writer.key("startedAt")
            writer.integer(startedAt)
            if let node {
                writer.member("datasets", node.datasets)
                writer.member("epochs", node.epochs)
            }
            if let error {
                writer.key("error")
                writer.string(error)
            }
        }
    }
}
