/// What bounds posting.
public struct PostLimits: Sendable {
    /// Posts at once.
    public var runningMaximum = 256
    /// Posts at once to one endpoint, however many URLs it has.
    public var runningMaximumPerOrigin = 32
    /// Posts that wait for their turn; one beyond fails at once.
    public var waitingMaximum = 20_000
    public var connectMilliseconds: Int64 = 5_000
    /// From its turn to the end of the answer.
    public var postMilliseconds: Int64 = 15_000
    /// Bytes of an answer that are read, for the connection's sake; one with more costs the connection.
    public var answerBytesMaximum = 64 << 10
    /// Connections without a post are closed: sooner than by most servers, whose closing would meet a post on its way.
    public var idleMilliseconds: Int64 = 4_000
    /// Endpoints whose connections are managed together; something of each is remembered until others take their place.
    public var originsMaximum = 4096
    /// Names whose connections are kept.
    public var namesMaximum = 512

    public init() {}
}
