/// Where the nodes of a cluster keep their leases: the store, and in tests a model of it.
///
/// Each call is one transaction, and only the store's clock counts.
public protocol LeaseStore: AnyObject, Sendable {
    /// Enters a node.
    ///
    /// - Throws: ``JoinRefusal`` where it must not begin.
    func join(_ node: NodeEntry) throws
    /// Renews a node and its leases, each where its epoch is still this one, and says what there is.
    func renew(_ node: NodeEntry, leases: [Int: Int64]) throws -> ClusterView
    /// Takes shards that nobody has, each where its epoch is still this one; the next view says which.
    func take(_ shards: [Int: Int64], for node: String) throws
    /// Names successors of shards that this node has; nil: nobody.
    func announce(_ successors: [Int: String?], by node: String) throws
    /// Says that this node waits for shards whose successor it is.
    func prepare(_ shards: [Int], for node: String) throws
    /// Gives a shard to its successor, or to nobody, where it still has this epoch.
    func handOver(_ shard: Int, epoch: Int64, to successor: String?) throws
    /// Removes a node that has nothing left, in this life of it.
    func leave(_ node: NodeEntry) throws
}

/// What a node says of itself.
public struct NodeEntry: Equatable, Sendable {
    public var name: String
    /// Another one after each start.
    public var life: String
    public var isLeaving = false
    public var reachesBroker = true
    public var address: String?

    public init(name: String, life: String, address: String? = nil) {
        self.name = name
        self.life = life
        self.address = address
    }
}

/// Why a node cannot join a cluster, or is no longer in it.
public enum JoinRefusal: Error, Equatable, Sendable {
    /// A node of this name lives.
    case nameInUse
    /// The store is used by a cluster of another name.
    case otherCluster(String)
    /// Another node has this one's name now.
    case replaced
}
