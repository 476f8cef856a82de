/// QoS 0 messages on their way to the embedded broker in one packet, which its plugin takes apart.
///
/// The topic and the layout are those of `CBrokerPlugin.h`, which cannot be linked into a program.
struct OutboundBatch {
    private(set) var bytes: [UInt8] = []
    private(set) var count = 0

    static let topic = "$geomatch/batch"
    private static let retainBit: UInt32 = 1 << 31
    /// What one batch may hold in bytes. The broker takes packets of 2 MiB; in larger batches others wait longer for their turn.
    static let bytesMaximum = 64 << 10
    private static let head = 6

    /// False where it does not fit any more, or never would.
    mutating func append(topic: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer, retain: Bool) -> Bool {
        let whole = Self.head + topic.count + 1 + payload.count
        guard topic.count <= UInt16.max, whole <= Self.bytesMaximum - bytes.count else { return false }
        let length = UInt32(payload.count) | (retain ? Self.retainBit : 0)
        withUnsafeBytes(of: length) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: UInt16(topic.count)) { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: topic)
        bytes.append(0)
        bytes.append(contentsOf: payload)
        count += 1
        return true
    }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        count = 0
    }
}
