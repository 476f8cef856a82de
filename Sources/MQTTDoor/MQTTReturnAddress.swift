import Datasets

/// Where a reply goes over MQTT: a topic and, with MQTT 5, what the request wants back with it.
package struct MQTTReturnAddress {
    var topic: ArraySlice<UInt8>
    var correlation: ArraySlice<UInt8>?

    /// - Parameter topic: With the prefix.
    package static func make(door: Int, topic: String, correlation: UnsafeRawBufferPointer?) -> ReturnAddress {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(topic.utf8.count + (correlation?.count ?? 0) + 2)
        bytes.append(correlation == nil ? 0 : 1)
        bytes.append(contentsOf: topic.utf8)
        bytes.append(0)
        if let correlation { bytes.append(contentsOf: correlation) }
        return ReturnAddress(door: door, bytes: bytes)
    }

    init(_ address: ReturnAddress) {
        let bytes = address.bytes
        let end = bytes.dropFirst().firstIndex(of: 0) ?? bytes.endIndex
        topic = bytes[1..<end]
        correlation = bytes[0] == 1 ? bytes[(end + 1)...] : nil
    }
}
