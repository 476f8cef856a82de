import CLiveRing
import Foundation
import SeededRandom
import Testing

@testable import MQTTLink

@Suite("The memory for live updates")
struct LiveRingTests {
    private struct Message: Equatable {
        var topic: String
        var payload: String
        var leftOut: UInt32 = 0

        init(_ topic: String, _ payload: String) { (self.topic, self.payload) = (topic, payload) }

        init(_ update: LiveRing.Update) {
            topic = String(decoding: update.topic, as: UTF8.self)
            payload = String(decoding: update.payload, as: UTF8.self)
            leftOut = update.leftOut
        }
    }

    private func readAll(_ ring: LiveRing) -> [Message] {
        var read: [Message] = []
        while ring.next({ read.append(Message($0)) }) == .update {}
        ring.giveBack()
        return read
    }

    @Test("What goes in comes out, in order and whole, however it lies across the ring's end")
    func queue() throws {
        var random = SeededRandom.SplitMix64.forTest()
        let ring = try LiveRing(capacity: 1 << 18)
        let writer = RingWriter(ring)
        #expect(writer.result == 0 && ring.refusal == nil)
        var expected: [Message] = []
        var read: [Message] = []
        for number in 0..<20_000 {
            let message = Message(
                String(repeating: "t", count: Int.random(in: 1...60, using: &random)),
                "\(number)" + String(repeating: "p", count: Int.random(in: 0...500, using: &random)))
            #expect(writer.put(message.topic, message.payload))
            expected.append(message)
            if number % 100 == 99 { read += readAll(ring) }
        }
        read += readAll(ring)
        #expect((read == expected) == true, "\(read.count) of \(expected.count)")
        #expect(ring.count == expected.count)
    }

    @Test(
        "With more than fits the newest update of each topic comes, every clearing and every mark, in order, and what was left out is counted"
    )
    func crowded() throws {
        var random = SeededRandom.SplitMix64.forTest()
        let ring = try LiveRing(capacity: 1 << 14)
        let writer = RingWriter(ring)
        #expect(ring.open(client: "c", kept: "k/", keepsAssured: false) == nil)
        var put: [Message] = []
        var marks: [Message] = []
        var read: [Message] = []
        /// Reads what can be read; what is held by a mark goes on when that came.
        func readOn() {
            while true {
                read += readAll(ring)
                if ring.shouldAskForMore { writer.proceed() }
                guard let mark = marks.first else { return }
                ring.reach(RingWriter.hash(mark.topic, mark.payload)) { read.append(Message($0)) }
                ring.giveBack()
                read.append(marks.removeFirst())
            }
        }
        for number in 0..<5000 {
            let topic = "t\(Int.random(in: 0..<20, using: &random))"
            switch Int.random(in: 0..<20, using: &random) {
            case 0:
                let mark = Message("k/\(number)", "m")
                writer.mark(mark.topic, mark.payload)
                marks.append(mark)
                put.append(mark)
            case 1:
                #expect(writer.put(topic, ""))
                put.append(Message(topic, ""))
            default:
                let payload = "\(number)" + String(repeating: "p", count: Int.random(in: 0...300, using: &random))
                #expect(writer.put(topic, payload))
                put.append(Message(topic, payload))
            }
            if Int.random(in: 0..<400, using: &random) == 0 { readOn() }
        }
        for _ in 0..<100 { readOn() }
        #expect(!ring.shouldAskForMore && ring.mayWait())
        #expect(read.contains { $0.leftOut > 0 })
        // What came is what was put in, but for updates with a newer one of their topic behind them.
        var rest = put[...]
        var leftOut: [String: UInt32] = [:]
        for message in read {
            while let next = rest.popFirst(), (next.topic, next.payload) != (message.topic, message.payload) {
                #expect(!next.payload.isEmpty && !next.topic.hasPrefix("k/"), "\(next) is missing")
                leftOut[next.topic, default: 0] += 1
            }
            if message.leftOut > 0 {
                #expect((leftOut[message.topic] ?? 0) >= message.leftOut)
                leftOut[message.topic]? -= message.leftOut
            }
        }
        #expect(rest.isEmpty)
        #expect(leftOut.values.allSatisfy { $0 == 0 }, "\(leftOut)")
    }

    @Test("Updates and messages over MQTT keep the order in which the broker took them, whichever comes first")
    func order() throws {
        var random = SeededRandom.SplitMix64.forTest()
        for _ in 0..<200 {
            let ring = try LiveRing(capacity: 1 << 16)
            let writer = RingWriter(ring)
            #expect(ring.open(client: "c", kept: "k/", keepsAssured: false) == nil)
            var taken: [Message] = []
            var sent: [Message] = []
            var handled: [Message] = []
            // The first one opens it; what the broker had sent before comes before.
            sent.append(Message("k/old", "0"))
            handled.removeAll()
            for number in 0..<Int.random(in: 1...60, using: &random) {
                // Some messages are the same ones again.
                if Int.random(in: 0..<3, using: &random) == 0 {
                    let message = Message("k/\(Int.random(in: 0..<3, using: &random))", "same")
                    writer.mark(message.topic, message.payload)
                    sent.append(message)
                    taken.append(message)
                } else {
                    let message = Message("t", "\(number)")
                    #expect(writer.put(message.topic, message.payload))
                    taken.append(message)
                }
                if Bool.random(using: &random) { handled += readAll(ring) }
                if Bool.random(using: &random), !sent.isEmpty { deliver(&sent, ring, &handled) }
            }
            while !sent.isEmpty { deliver(&sent, ring, &handled) }
            if !taken.contains(where: { $0.topic != "t" }) { ring.release() }
            handled += readAll(ring)
            #expect(handled == [Message("k/old", "0")] + taken)
        }
    }

    private func deliver(_ sent: inout [Message], _ ring: LiveRing, _ handled: inout [Message]) {
        let message = sent.removeFirst()
        ring.reach(RingWriter.hash(message.topic, message.payload)) { handled.append(Message($0)) }
        ring.giveBack()
        handled.append(message)
    }

    @Test("A message that never comes holds nothing after it was released, and one that comes late changes nothing")
    func missing() throws {
        let ring = try LiveRing(capacity: 1 << 14)
        let writer = RingWriter(ring)
        #expect(ring.open(client: "c", kept: "k/", keepsAssured: false) == nil)
        #expect(writer.put("t", "1"))
        #expect(readAll(ring).isEmpty)
        writer.mark("k/probe", "")
        ring.reach(RingWriter.hash("k/probe", "")) { #expect(Message($0).payload == "1") }
        #expect(writer.put("t", "2"))
        writer.mark("k/lost", "")
        #expect(writer.put("t", "3"))
        writer.mark("k/lost", "again")
        #expect(writer.put("t", "4"))
        #expect(readAll(ring).map(\.payload) == ["2"])
        #expect(ring.next { _ in } == .held)
        ring.release()
        #expect(readAll(ring).map(\.payload) == ["3", "4"])
        ring.reach(RingWriter.hash("k/lost", "")) { _ in Issue.record("handed over twice") }
        // A later one is handled behind what came before it, though an earlier one is missing.
        writer.mark("k/missing", "")
        #expect(writer.put("t", "5"))
        writer.mark("k/there", "")
        #expect(writer.put("t", "6"))
        var read: [String] = []
        ring.reach(RingWriter.hash("k/there", "")) { read.append(Message($0).payload) }
        #expect(read == ["5"])
        #expect(readAll(ring).map(\.payload) == ["6"])
        // Closed it holds nothing.
        writer.mark("k/other", "")
        #expect(writer.put("t", "7"))
        ring.close()
        #expect(readAll(ring).map(\.payload) == ["7"])
    }

    @Test("Beyond what may wait for room an update goes another way, and its mark keeps its place")
    func bounded() throws {
        let ring = try LiveRing(capacity: 1 << 12)
        let writer = RingWriter(ring)
        writer.waitingMaximum = 4000
        #expect(ring.open(client: "c", kept: "k/", keepsAssured: false) == nil)
        writer.mark("k/probe", "")
        ring.reach(RingWriter.hash("k/probe", "")) { _ in }
        var expected: [String] = []
        var others: [String] = []
        for number in 0..<400 {
            if !writer.put("t/\(number)", "\(number)") {
                writer.mark("t/\(number)", "\(number)")
                others.append("\(number)")
            }
            expected.append("\(number)")
        }
        #expect(others.count > 100 && expected.count - others.count > 100)
        // What is replaced makes room.
        let replaced = "\((Int(others[0]) ?? 0) - 1)"
        #expect(writer.put("t/\(replaced)", "new"))
        expected.removeAll { $0 == replaced }
        expected.append("new")
        var handled: [String] = []
        func readOn() {
            while ring.next({ handled.append(Message($0).payload) }) == .update {}
            ring.giveBack()
            writer.proceed()
        }
        for other in others {
            for _ in 0..<5 { readOn() }
            ring.reach(RingWriter.hash("t/\(other)", other)) { handled.append(Message($0).payload) }
            handled.append(other)
        }
        readOn()
        #expect(handled == expected)
        #expect(!ring.shouldAskForMore)
    }

    @Test("What the next writer puts in stands behind what the one before left")
    func nextWriter() throws {
        let ring = try LiveRing(capacity: 1 << 12)
        for number in 0..<300 {
            let writer = RingWriter(ring)
            #expect(writer.put("t", "\(number)"))
            if number % 7 == 6 { #expect(readAll(ring).map(\.payload) == (number - 6...number).map { "\($0)" }) }
        }
        ring.forgetWriter()
        #expect(ring.refusal == .noWriter)
    }

    @Test("Only what goes to the client that opened it is handed over, and not what is to stay with MQTT")
    func opened() throws {
        let ring = try LiveRing(capacity: 1 << 12)
        #expect(ring.open(client: "me", kept: "site/geomatch/", keepsAssured: false) == .noWriter)
        let writer = RingWriter(ring)
        #expect(!writer.isOpen(to: "me"))
        #expect(ring.open(client: "me", kept: "site/geomatch/", keepsAssured: false) == nil)
        #expect(writer.isOpen(to: "me") && !writer.isOpen(to: "me2") && !writer.isOpen(to: "m"))
        #expect(writer.keeps("site/geomatch/d/c/request/a/b") && writer.keeps("$SYS/broker"))
        #expect(!writer.keeps("site/d/-/-/-/-/x/position", qos: 2) && !writer.keeps("site/geomatch"))
        #expect(ring.open(client: "me", kept: "", keepsAssured: true) == nil)
        #expect(writer.keeps("x", qos: 1))
        let long = String(repeating: "x", count: 256)
        #expect(ring.open(client: "me", kept: long, keepsAssured: false) == .nameTooLong)
        #expect(!writer.isOpen(to: "me"))
        #expect(!writer.put("t", String(repeating: "p", count: Int(GEOMATCH_RING_UPDATE_MAXIMUM) + 1)))
    }

    @Test("A writer of another version is refused by its number, and refuses likewise")
    func version() throws {
        let ring = try LiveRing(capacity: 1 << 12)
        try withBytes(of: ring) { memory in
            let shared = memory.assumingMemoryBound(to: liveRing.self)
            shared.pointee.version = 7
            #expect(RingWriter(ring).result == 7)
            shared.pointee.version = UInt32(GEOMATCH_RING_VERSION)
            shared.pointee.writer = 9
            #expect(ring.open(client: "c", kept: "", keepsAssured: false) == .version(9))
            #expect("\(LiveRing.Refusal.version(9))".contains("version 9"))
            shared.pointee.magic = 1
            #expect(RingWriter(ring).result == -1)
        }
    }

    @Test("Whatever stands in the memory, reading it stays within it and ends")
    func damaged() throws {
        var random = SeededRandom.SplitMix64.forTest()
        for _ in 0..<400 {
            let ring = try LiveRing(capacity: 1 << 12)
            let writer = RingWriter(ring)
            #expect(ring.open(client: "c", kept: "k/", keepsAssured: false) == nil)
            for number in 0..<40 {
                if number % 5 == 0 { writer.mark("k", "\(number)") } else { #expect(writer.put("t", "\(number)")) }
            }
            try withBytes(of: ring) { memory in
                let data = memory + Int(GEOMATCH_RING_DATA)
                for _ in 0..<Int.random(in: 1...20, using: &random) {
                    data.storeBytes(
                        of: UInt8.random(in: 0...255, using: &random), toByteOffset: Int.random(in: 0..<1200, using: &random),
                        as: UInt8.self)
                }
                if Int.random(in: 0..<4, using: &random) == 0 {
                    memory.assumingMemoryBound(to: liveRing.self).pointee.head = UInt64.random(in: 0 ... .max, using: &random)
                }
            }
            for number in stride(from: 0, to: 40, by: 5) {
                ring.reach(RingWriter.hash("k", "\(number)")) { #expect($0.topic.count + $0.payload.count <= 4096) }
            }
            ring.close()
            #expect(readAll(ring).count <= 4096 / 16)
            #expect(ring.next { _ in } != .update)
        }
    }

    private func withBytes(of ring: LiveRing, _ body: (UnsafeMutableRawPointer) throws -> Void) throws {
        let size = Int(GEOMATCH_RING_DATA) + (1 << 12)
        let mapped = try #require(mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring.memoryDescriptor, 0))
        try #require(mapped != MAP_FAILED)
        defer { munmap(mapped, size) }
        try body(mapped)
    }

    @Test("Random messages through the plugin's part, with sanitizers", .enabled(if: SanitizedProgram.canBuild, "it needs clang"))
    func fuzzed() throws {
        var random = SeededRandom.SplitMix64.forTest()
        #expect(try SanitizedProgram.run("LiveRingFuzz.c", ["\(random.next())", "60"]) == 0)
    }
}
