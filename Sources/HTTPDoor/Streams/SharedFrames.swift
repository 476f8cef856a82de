import NIOCore
import NIOWebSocket
import Synchronization

/// Live updates that many sockets are sent, each under the name of its own subscription.
///
/// The frames are encoded once for all names of one length: what differs is copied over.
final class SharedFrames: Sendable {
    /// One behind the other.
    private let payloads: [UInt8]
    /// Where each ends, and the number of its live topic.
    private let ends: [(end: Int, topicNumber: UInt32)]
    /// By the length of how a frame begins.
    private let encodings = Mutex<[Int: Encoding]>([:])

    private struct Encoding {
        /// How the frames begin, see ``StreamMessage/frameHead(path:)``.
        var head: [UInt8]
        var bytes: ByteBuffer
        /// Where that is in the bytes.
        var places: [Int]
    }

    init(payloads: [UInt8], ends: [(end: Int, topicNumber: UInt32)]) {
        self.payloads = payloads
        self.ends = ends
    }

    /// How much they are, about.
    func bytes(under head: [UInt8]) -> Int { payloads.count + ends.count * (head.count + 5) }

    func forEach(_ body: (_ payload: ArraySlice<UInt8>, _ topicNumber: UInt32) -> Void) {
        var start = 0
        for (end, topicNumber) in ends {
            body(payloads[start..<end], topicNumber)
            start = end
        }
    }

    /// The frames, each beginning so.
    func encoded(under head: [UInt8]) -> ByteBuffer {
        let encoding = encodings.withLock { encodings in
            if let known = encodings[head.count] { return known }
            let made = encode(under: head)
            encodings[head.count] = made
            return made
        }
        guard encoding.head != head else { return encoding.bytes }
        var bytes = encoding.bytes
        for place in encoding.places { bytes.setBytes(head, at: place) }
        return bytes
    }

    /// How often they were encoded, for tests.
    var encodingCount: Int { encodings.withLock { $0.count } }

    private func encode(under head: [UInt8]) -> Encoding {
        var encoding = Encoding(head: head, bytes: ByteBuffer(), places: [])
        encoding.bytes.reserveCapacity(bytes(under: head))
        encoding.places.reserveCapacity(ends.count)
        forEach { payload, _ in
            encoding.bytes.writeFrameHead(.text, length: head.count + payload.count + 1)
            encoding.places.append(encoding.bytes.writerIndex)
            encoding.bytes.writeBytes(head)
            encoding.bytes.writeBytes(payload)
            encoding.bytes.writeInteger(UInt8(ascii: "}"))
        }
        return encoding
    }
}
