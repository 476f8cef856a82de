import Foundation
import Testing

@testable import MQTTLink

@Suite("Parts of the link")
struct LinkPartsTests {
    @Test("The backoff doubles up to its maximum, waits within it, and begins anew")
    func backoff() {
        var backoff = Backoff(minimum: 0.5, maximum: 30)
        #expect((0..<8).map { _ in backoff.next(random: 1) } == [0.5, 1, 2, 4, 8, 16, 30, 30])
        #expect(backoff.next(random: 0) == 0)
        #expect(backoff.slow(random: 0) == 22.5)
        backoff.reset()
        #expect(backoff.next(random: 0.5) == 0.25)
    }

    @Test("A hundred failures in a row do not overflow the backoff")
    func backoffLong() {
        var backoff = Backoff(minimum: 0.5, maximum: 30)
        for _ in 0..<100 { #expect(backoff.next(random: 1) <= 30) }
    }

    @Test("A batch gives back what was put in, with padding, across its growth")
    func buffer() {
        var buffer = InboundBuffer()
        let payloads = (0..<2000).map { [UInt8](repeating: UInt8($0 % 251 + 1), count: $0 % 700) }
        for (index, payload) in payloads.enumerated() {
            append(
                &buffer, topic: "t/\(index)", payload: payload, response: index % 3 == 0 ? "r/\(index)" : nil,
                correlation: index % 2 == 0 ? [UInt8(index % 256)] : nil)
        }
        let batch = buffer.batch(0..<2000)
        #expect(batch.count == 2000)
        for (index, payload) in payloads.enumerated() {
            let message = batch[index]
            #expect(String(decoding: message.topic, as: UTF8.self) == "t/\(index)")
            #expect(message.topic.baseAddress.map { $0.load(fromByteOffset: message.topic.count, as: UInt8.self) } == 0)
            #expect(Array(message.payload) == payload)
            #expect(message.responseTopic.map { String(decoding: $0, as: UTF8.self) } == (index % 3 == 0 ? "r/\(index)" : nil))
            #expect(message.correlation.map(Array.init) == (index % 2 == 0 ? [UInt8(index % 256)] : nil))
            let padding = UnsafeRawBufferPointer(
                start: message.topic.baseAddress.map { $0 + message.topic.count + 1 + payload.count },
                count: InboundBuffer.padding)
            #expect(padding.allSatisfy { $0 == 0 })
        }
        let tail = buffer.batch(1990..<2000)
        #expect(Array(tail[9].payload) == payloads[1999])
        buffer.removeAll()
        let left = buffer.count
        #expect(left == 0)
    }

    private func append(
        _ buffer: inout InboundBuffer, topic: String, payload: [UInt8], response: String?, correlation: [UInt8]?
    ) {
        Array(topic.utf8).withUnsafeBytes { topic in
            payload.withUnsafeBytes { payload in
                Array((response ?? "").utf8).withUnsafeBytes { responseBytes in
                    (correlation ?? []).withUnsafeBytes { correlationBytes in
                        buffer.append(
                            topic: topic, payload: payload, qos: 0, retain: false,
                            response: response == nil ? nil : responseBytes,
                            correlation: correlation == nil ? nil : correlationBytes)
                    }
                }
            }
        }
    }

    @Test("A packet number belongs to one token until it is answered, also after the numbers wrap")
    func packetNumbers() {
        var numbers = PacketNumbers()
        numbers.await(7, number: 1)
        numbers.await(9, number: 65535)
        // A number the library gave twice keeps its first token.
        numbers.await(8, number: 1)
        var steps: [(taken: Bool, token: UInt64?, outstanding: Int)] = []
        for (last, number) in [(UInt16(65534), UInt16(5)), (65535, 1), (65535, 1), (65534, 65535), (65534, 65535)] {
            numbers.last = last
            let taken = numbers.nextIsTaken
            let token = numbers.answer(number)
            steps.append((taken, token, numbers.outstanding))
        }
        #expect(steps.map(\.taken) == [true, true, false, true, false])
        #expect(steps.map(\.token) == [nil, 7, nil, 9, nil])
        #expect(steps.map(\.outstanding) == [2, 1, 1, 0, 0])
    }
}
