import CLiveRing
import DequeModule
import Glibc

/// Live updates from the plugin in the embedded broker, through memory that both map, in the order in which the broker took them
/// among the messages that it sent over MQTT. Layout and writer: `CLiveRing.h`.
///
/// Reading belongs to one thread, that of the link. That is the guard behind `@unchecked Sendable`; the rest is immutable or atomic.
public final class LiveRing: @unchecked Sendable {
    /// One update, valid during the call that hands it over.
    struct Update {
        var topic: UnsafeRawBufferPointer
        var payload: UnsafeRawBufferPointer
        /// How many older ones of its topic were left out for it.
        var leftOut: UInt32
    }

    enum Step: Equatable {
        case update
        /// What comes next was taken behind a message that MQTT has not brought yet.
        case held
        case empty
    }

    /// Why the broker's plugin writes nothing into it.
    public enum Refusal: Equatable, Sendable, CustomStringConvertible {
        /// It is not loaded, or older than the ring.
        case noWriter
        case version(UInt32)
        case nameTooLong
        /// What it wrote made no sense.
        case broken

        public var description: String {
            switch self {
            case .noWriter: "the broker's plugin does not know the memory for live updates"
            case .version(let version):
                "the broker's plugin speaks version \(version) of the memory for live updates, this daemon \(GEOMATCH_RING_VERSION)"
            case .nameTooLong: "the prefix of the topics is too long for it"
            case .broken: "the memory for live updates is damaged"
            }
        }
    }

    /// 100,000 updates of usual size.
    public static let defaultCapacity = 32 << 20

    /// For the broker to inherit.
    let memoryDescriptor: Int32
    /// Becomes readable once something comes after ``mayWait()``.
    let wakeDescriptor: Int32
    private let ring: UnsafeMutablePointer<liveRing>
    private let data: UnsafeRawPointer
    private let capacity: UInt64

    // The reader's.
    private var tail: UInt64 = 0
    /// Up to here marks are in ``marks``.
    private var scanned: UInt64 = 0
    private var marks: Deque<(hash: UInt64, at: UInt64)> = []
    private var markCounts: [UInt64: Int] = [:]
    /// What lies before here is held by nothing.
    private var freeUntil = UInt64.max
    /// Nothing is read until the first marked message: those that the broker sent without a mark come before.
    private var awaitsFirstMark = false
    /// Updates that were handed over.
    private(set) var count = 0
    private(set) var isOpen = false
    private(set) var isBroken = false

    /// - Parameter capacity: A power of two, at least 4096.
    /// - Throws: where the system has no memory or descriptors for it.
    public init(capacity: Int = defaultCapacity) throws(MQTTEndpointError) {
        precondition(capacity >= 4096 && capacity & (capacity - 1) == 0, "a ring of \(capacity) bytes")
        let size = Int(GEOMATCH_RING_DATA) + capacity
        let memory = liveRingMemory(size)
        let wake = liveRingWake()
        let mapped =
            memory >= 0 && wake >= 0
            ? mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0) : MAP_FAILED
        guard let mapped, mapped != MAP_FAILED else {
            let reason = String(cString: strerror(errno))
            Glibc.close(memory)
            Glibc.close(wake)
            throw .resources(reason: reason)
        }
        memoryDescriptor = memory
        wakeDescriptor = wake
        ring = mapped.bindMemory(to: liveRing.self, capacity: 1)
        data = UnsafeRawPointer(mapped) + Int(GEOMATCH_RING_DATA)
        self.capacity = UInt64(capacity)
        liveRingMake(ring, UInt64(capacity))
    }

    deinit {
        munmap(ring, Int(GEOMATCH_RING_DATA) + Int(capacity))
        Glibc.close(memoryDescriptor)
        Glibc.close(wakeDescriptor)
    }

    // MARK: Opening and closing

    /// A broker is about to start: what the one before said of itself counts no more. From any thread.
    func forgetWriter() { liveRingForgetWriter(ring) }

    /// Why nothing can come; nil: something can. From any thread.
    public var refusal: Refusal? {
        switch liveRingWriterVersion(ring) {
        case UInt32(GEOMATCH_RING_VERSION): nil
        case 0: .noWriter
        case let version: .version(version)
        }
    }

    /// What goes to the client comes through here from now on.
    ///
    /// What comes is held until the first message that is sent over MQTT from now on has come.
    ///
    /// - Parameters:
    ///   - kept: Topics that begin so go over MQTT.
    ///   - keepsAssured: So does what was published at a higher QoS than 0.
    func open(client: String, kept: String, keepsAssured: Bool) -> Refusal? {
        if isBroken { return .broken }
        if let refusal { return refusal }
        freeUntil = liveRingHead(ring)
        awaitsFirstMark = true
        guard liveRingOpen(ring, client, kept, keepsAssured) else {
            close()
            return .nameTooLong
        }
        isOpen = true
        return nil
    }

    /// Everything comes over MQTT from now on; what is here already is held by nothing.
    func close() {
        liveRingClose(ring)
        isOpen = false
        freeUntil = .max
        awaitsFirstMark = false
    }

    /// What holds now does so no more: the message that is waited for does not come.
    func release() {
        freeUntil = max(freeUntil, liveRingHead(ring))
        awaitsFirstMark = false
    }

    // MARK: Reading

    /// Hands over the next update, where there is one and it is its turn.
    func next(_ body: (Update) -> Void) -> Step {
        let head = liveRingHead(ring)
        while tail != head {
            guard let entry = entry(at: tail, before: head) else { return .empty }
            switch entry {
            case .filler: break
            case .mark: if tail >= freeUntil { return .held }
            case .update(let update):
                if awaitsFirstMark, tail >= freeUntil { return .held }
                body(update)
                count += 1
                tail += entry.size
                return .update
            }
            tail += entry.size
        }
        return .empty
    }

    /// A message came over MQTT: hands over what the broker took before it.
    func reach(_ hash: UInt64, _ body: (Update) -> Void) {
        scan()
        guard markCounts[hash] != nil else { return }
        awaitsFirstMark = false
        while let mark = popMark() {
            guard mark.hash == hash else { continue }
            while tail < mark.at {
                guard let entry = entry(at: tail, before: mark.at) else { return }
                if case .update(let update) = entry {
                    body(update)
                    count += 1
                }
                tail += entry.size
            }
            tail = mark.at + Self.markSize
            return
        }
    }

    /// What was handed over may be written over.
    func giveBack() {
        liveRingReadTo(ring, tail)
    }

    /// Bytes that were not handed over.
    var waitingBytes: Int { Int(clamping: liveRingHead(ring) &- tail) }

    /// Whether the writer keeps what found no room, and there is some now.
    var shouldAskForMore: Bool { liveRingIsCrowded(ring) && liveRingHead(ring) - tail < capacity / 2 }

    /// Whether nothing is there to read; then the descriptor wakes.
    func mayWait() -> Bool { liveRingSleep(ring, tail) }

    func takeWake() {
        var count: UInt64 = 0
        _ = read(wakeDescriptor, &count, 8)
    }

    static func hash(topic: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer) -> UInt64 {
        liveRingHash(topic.baseAddress, topic.count, payload.baseAddress, payload.count)
    }

    // MARK: Entries

    private enum Entry {
        case filler(UInt64)
        case mark(UInt64)
        case update(Update)

        var size: UInt64 {
            switch self {
            case .filler(let size): size
            case .mark: LiveRing.markSize
            case .update(let update): LiveRing.size(ofUpdate: update.topic.count + update.payload.count)
            }
        }
    }

    private static let headSize = UInt64(MemoryLayout<liveRingEntry>.size)
    private static let markSize = headSize + 8

    private static func size(ofUpdate bytes: Int) -> UInt64 { (headSize + UInt64(bytes) + 7) & ~7 }

    /// The broker may be anybody's by now: nothing it wrote leads out of the ring.
    private func entry(at position: UInt64, before head: UInt64) -> Entry? {
        let offset = position & (capacity - 1)
        let left = min(capacity - offset, head &- position)
        guard head &- position <= capacity, left >= 8, offset & 7 == 0 else { return damaged() }
        let start = data + Int(offset)
        let size = UInt64(start.load(as: UInt32.self))
        let kind = Int(start.load(fromByteOffset: 4, as: UInt8.self))
        guard size >= 8, size & 7 == 0, size <= left else { return damaged() }
        if kind == liveRingFiller { return .filler(size) }
        guard size >= Self.headSize else { return damaged() }
        if kind == liveRingMark {
            return size == Self.markSize ? .mark(start.load(fromByteOffset: Int(Self.headSize), as: UInt64.self)) : damaged()
        }
        let head = start.load(as: liveRingEntry.self)
        let (topicCount, payloadCount) = (Int(head.topicLength), Int(head.payloadLength))
        guard kind == liveRingUpdate, Self.size(ofUpdate: topicCount + payloadCount) == size else { return damaged() }
        let topic = start + Int(Self.headSize)
        return .update(
            Update(
                topic: UnsafeRawBufferPointer(start: topic, count: topicCount),
                payload: UnsafeRawBufferPointer(start: topic + topicCount, count: payloadCount), leftOut: head.leftOut))
    }

    /// Nothing more is read from it.
    private func damaged() -> Entry? {
        close()
        isBroken = true
        tail = liveRingHead(ring)
        scanned = tail
        marks.removeAll()
        markCounts.removeAll()
        return nil
    }

    // MARK: Marks

    /// Finds the marks up to the head, each once.
    private func scan() {
        while let mark = marks.first, mark.at < tail { _ = popMark() }
        scanned = max(scanned, tail)
        let head = liveRingHead(ring)
        while scanned != head {
            guard let entry = entry(at: scanned, before: head) else { return }
            if case .mark(let hash) = entry {
                marks.append((hash, scanned))
                markCounts[hash, default: 0] += 1
            }
            scanned += entry.size
        }
    }

    private func popMark() -> (hash: UInt64, at: UInt64)? {
        guard let mark = marks.popFirst() else { return nil }
        let count = markCounts[mark.hash] ?? 1
        markCounts[mark.hash] = count > 1 ? count - 1 : nil
        return mark
    }
}
