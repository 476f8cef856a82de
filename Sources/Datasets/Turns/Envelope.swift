import Wire

/// A request as a door brings it; the bytes are borrowed for the call.
public struct Envelope {
    public var dataset: String
    public var client: String
    /// `resource/verb`.
    public var name: String
    /// The parameters: a JSON object.
    public var body: UnsafeRawBufferPointer
    /// The body is followed by at least 64 readable bytes.
    public var isPadded: Bool
    public var answer: ReturnAddress
    /// Who asks may name this dataset only, whatever its client may.
    public var isConfined: Bool

    public init(
        dataset: String, client: String, name: String, body: UnsafeRawBufferPointer, isPadded: Bool = false,
        answer: ReturnAddress, isConfined: Bool = false
    ) {
        self.isConfined = isConfined
        self.dataset = dataset
        self.client = client
        self.name = name
        self.body = body
        self.isPadded = isPadded
        self.answer = answer
    }
}

/// Where a reply goes; only the door that made it reads it.
public struct ReturnAddress: Sendable {
    /// Which door.
    public var door: Int
    public var bytes: [UInt8]
    /// The queue of who asks; 0: of nobody.
    public var queue: UInt32 = 0
    /// What the request costs until it is answered, see ``RequestRow/load``.
    public var load: UInt8 = 0
    /// When the request came, in seconds of the core's own clock.
    public var receivedAt = 0.0
    /// The client stays connected, and what a request streams follows its reply.
    public var isOpen: Bool
    /// The door asks for a device, regardless of who owns it and its objects, and shows ids only.
    public var isForDevice: Bool
    /// The door carries the request out in parts, which are requests of their own.
    public var parted: PartedRequest?

    public init(door: Int, bytes: [UInt8] = [], isOpen: Bool = false, isForDevice: Bool = false) {
        self.door = door
        self.bytes = bytes
        self.isOpen = isOpen
        self.isForDevice = isForDevice
    }

    /// Nobody waits for the reply.
    static let nobody = ReturnAddress(door: -1)
}

/// What a door asks about a request that it carries out in parts.
public enum PartedRequest: Sendable {
    /// Its first reply, where there was one to its `requestId`: else the reply is empty, and the parts may come.
    case beginning
    /// It is over: from now on this is the first reply to its `requestId`.
    case end(reply: [UInt8], error: ErrorCode?)
}

/// A live update as a door brings it; the bytes are borrowed for the call.
public struct IncomingUpdate {
    /// The seven levels, encoded.
    public var topic: UnsafeRawBufferPointer
    public var payload: UnsafeRawBufferPointer
    /// The payload is followed by at least 64 readable bytes.
    public var isPadded: Bool
    /// It is no news: the source kept it and says it again.
    public var isRepeated: Bool
    /// It is one of OwnTracks, which is a geofence, too.
    var isWaypoint = false

    public init(
        topic: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer, isPadded: Bool = false, isRepeated: Bool = false
    ) {
        self.topic = topic
        self.payload = payload
        self.isPadded = isPadded
        self.isRepeated = isRepeated
    }
}
