import Wire
import Records

/// `geomatch/status`: retained, and the daemon's last will.
public struct StatusMessage {
    public var version: String
    public var instance: String
    public var startedAt: Int64

    public init(version: String, instance: String, startedAt: Int64) {
        self.version = version
        self.instance = instance
        self.startedAt = startedAt
    }

    public func encode(isOnline: Bool, error: String? = nil) -> [UInt8] {
        JSONWriter.object { writer in
            writer.key("state")
            writer.string(isOnline ? "online" : "offline")
            writer.key("version")
            writer.string(version)
            writer.key("instance")
            writer.string(instance)
            writer.key("startedAt")
            writer.integer(startedAt)
            if let error {
                writer.key("error")
                writer.string(error)
            }
        }
    }
}
