import CLiveRing
import Foundation
import SeededRandom
import Synchronization
import Testing

@testable import MQTTLink

/// The plugin's end of the memory, for tests that decide what it writes.
final class RingWriter: @unchecked Sendable {
    private var writer = liveRingWriter()
    let result: Int64

    init(_ ring: LiveRing) { result = liveRingAttach(&writer, ring.memoryDescriptor, ring.wakeDescriptor) }
    deinit { liveRingDetach(&writer) }

    /// What may wait for room, in bytes.
    var waitingMaximum: Int {
        get { writer.waitingBytesMaximum }
        set { writer.waitingBytesMaximum = newValue }
    }

    func put(_ topic: String, _ payload: String) -> Bool {
        Array(payload.utf8).withUnsafeBytes { liveRingPut(&writer, topic, topic.utf8.count, $0.baseAddress, $0.count) }
    }

    func mark(_ topic: String, _ payload: String) { liveRingPutMark(&writer, Self.hash(topic, payload)) }
    func proceed() { liveRingContinue(&writer) }
    func isOpen(to client: String) -> Bool { liveRingIsOpen(&writer, client) }
    func keeps(_ topic: String, qos: UInt8 = 0) -> Bool { liveRingKeeps(&writer, topic, qos) }

    static func hash(_ topic: String, _ payload: String) -> UInt64 {
        Array(topic.utf8).withUnsafeBytes { topic in
            Array(payload.utf8).withUnsafeBytes { LiveRing.hash(topic: topic, payload: $0) }
        }
    }
}

@Suite("A link with memory for live updates, beside a broker that knows nothing of it", .timeLimit(.minutes(5)))
struct LiveRingLinkTests {
    private func withOpenRing(_ body: (LinkRecorder, RingWriter, LiveRing) throws -> Void) throws {
        let ring = try LiveRing(capacity: 1 << 18)
        let writer = RingWriter(ring)
        try withBroker { broker in
            try withLink(broker.endpoint, id: "me", filters: [("k/#", 1)], ring: ring) { link in
                #expect(link.waitSubscribed())
                #expect(link.ask { $0.openRing(kept: "k/", keepsAssured: false) } == .some(nil))
                #expect(writer.isOpen(to: "me"))
                writer.mark("k/probe", "")
                #expect(link.publishAndWait("k/probe", "") == 0)
                #expect(link.wait { _, messages in messages.count == 1 })
                try body(link, writer, ring)
            }
        }
    }

    @Test("Each update wakes the link: none waits for the next turn")
    func awake() throws {
        try withOpenRing { link, writer, _ in
            let start = monotonicNow()
            for number in 1...100 {
                #expect(writer.put("t", "\(number)"))
                #expect(link.wait { _, messages in messages.count == 1 + number })
            }
            // One that slept until its next turn would take a second.
            #expect(monotonicNow() - start < 20_000_000_000)
        }
    }

    private final class Flag: Sendable {
        private let value = Atomic<Bool>(false)
        var isSet: Bool { value.load(ordering: .acquiring) }
        func set() { value.store(true, ordering: .releasing) }
    }

    @Test("What another thread writes while the link reads, sleeps and wakes comes whole and in order")
    func concurrent() throws {
        var random = SeededRandom.SplitMix64.forTest()
        let total = 60_000
        let pauses = Set((0..<300).map { _ in Int.random(in: 0..<total, using: &random) })
        try withOpenRing { link, writer, _ in
            let (isDone, hasEnded) = (Flag(), DispatchSemaphore(value: 0))
            defer {
                isDone.set()
                hasEnded.wait()
            }
            Thread.detachNewThread {
                for number in 0..<total {
                    // Each on a topic of its own: none is left out where the link is slower.
                    _ = writer.put("t/\(number)", "\(number)")
                    if pauses.contains(number) { usleep(300) }
                    if number % 1000 == 0 { writer.proceed() }
                }
                // The plugin is asked to go on; nobody asks this one.
                while !isDone.isSet {
                    writer.proceed()
                    usleep(1000)
                }
                hasEnded.signal()
            }
            #expect(link.wait { _, messages in messages.count == total + 1 })
            #expect(link.received.dropFirst().map(\.payload) == (0..<total).map { "\($0)" })
        }
    }

    @Test("A message that the broker drops holds up what was taken behind it for a second, and the next one hardly")
    func dropped() throws {
        try withOpenRing { link, writer, _ in
            for (number, seconds) in [(1, 0.9...20.0), (2, 0.0...0.9)] {
                let start = monotonicNow()
                writer.mark("k/lost", "\(number)")
                #expect(writer.put("t", "\(number)"))
                #expect(link.wait { _, messages in messages.last?.payload == "\(number)" })
                #expect(seconds.contains(Double(monotonicNow() - start) / 1e9))
            }
            // It is still in order with those that come.
            writer.mark("k/there", "")
            #expect(writer.put("t", "behind"))
            #expect(link.publishAndWait("k/there", "") == 0)
            #expect(link.wait { _, messages in messages.last?.payload == "behind" })
            #expect(link.received.suffix(2).map(\.topic) == ["k/there", "t"])
        }
    }

    @Test("At the end everything that was taken is handed over")
    func ending() throws {
        try withOpenRing { link, writer, _ in
            link.order { _ in
                writer.mark("k/lost", "")
                for number in 0..<1000 { _ = writer.put("t", "\(number)") }
            }
            #expect(link.stop())
            #expect(link.received.suffix(1000).map(\.payload) == (0..<1000).map { "\($0)" })
            #expect(!writer.isOpen(to: "me"))
        }
    }
}
