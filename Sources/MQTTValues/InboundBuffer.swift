/// The memory behind ``InboundBatch``: one block for the bytes, one for the places within it. Both are kept between drains,
/// so that a message costs no allocation, and given back after an unusually large one.
package struct InboundBuffer: ~Copyable {
    package struct Slot {
        package var start: Int
        package var topicCount: Int
        package var payloadCount: Int
        /// -1: none.
        package var responseCount: Int32
        package var correlationCount: Int32
        package var qos: UInt8
        package var retain: Bool
        package var leftOut: UInt32
    }

    /// simdjson's `SIMDJSON_PADDING`.
    package static let padding = 64
    private static let keptBytes = 1 << 20

    package private(set) var bytes: UnsafeMutableRawPointer
    private var capacity: Int
    package private(set) var byteCount = 0
    package private(set) var slots: UnsafeMutablePointer<Slot>
    private var slotCapacity: Int
    package private(set) var count = 0

    package init() {
        capacity = 256 << 10
        bytes = .allocate(byteCount: capacity, alignment: 64)
        slotCapacity = 512
        slots = .allocate(capacity: slotCapacity)
    }

    deinit {
        bytes.deallocate()
        slots.deallocate()
    }

    package mutating func append(
        topic: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer, qos: UInt8, retain: Bool, leftOut: UInt32 = 0,
        response: UnsafeRawBufferPointer?, correlation: UnsafeRawBufferPointer?
    ) {
        let extra = response == nil && correlation == nil ? 0 : (response?.count ?? 0) + 1 + (correlation?.count ?? 0)
        let size = topic.count + 1 + payload.count + Self.padding + extra
        if byteCount + size > capacity { grow(to: byteCount + size) }
        if count == slotCapacity { growSlots() }
        var end = bytes + byteCount
        Self.put(topic, at: &end)
        end.storeBytes(of: 0, as: UInt8.self)
        end += 1
        Self.put(payload, at: &end)
        end.initializeMemory(as: UInt8.self, repeating: 0, count: Self.padding)
        end += Self.padding
        if extra > 0 {
            if let response { Self.put(response, at: &end) }
            end.storeBytes(of: 0, as: UInt8.self)
            end += 1
            if let correlation { Self.put(correlation, at: &end) }
        }
        slots[count] = Slot(
            start: byteCount, topicCount: topic.count, payloadCount: payload.count,
            responseCount: response.map { Int32($0.count) } ?? -1,
            correlationCount: correlation.map { Int32($0.count) } ?? -1, qos: qos, retain: retain, leftOut: leftOut)
        count += 1
        byteCount += size
    }

    /// The messages `range`, until the next change.
    package func batch(_ range: Range<Int>) -> InboundBatch {
        InboundBatch(bytes: bytes, slots: UnsafePointer(slots + range.lowerBound), count: range.count)
    }

    package mutating func removeAll() {
        if capacity > Self.keptBytes {
            bytes.deallocate()
            capacity = Self.keptBytes
            bytes = .allocate(byteCount: capacity, alignment: 64)
        }
        byteCount = 0
        count = 0
    }

    private static func put(_ source: UnsafeRawBufferPointer, at end: inout UnsafeMutableRawPointer) {
        guard let base = source.baseAddress, source.count > 0 else { return }
        end.copyMemory(from: base, byteCount: source.count)
        end += source.count
    }

    private mutating func grow(to needed: Int) {
        capacity = max(needed, capacity * 2)
        let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 64)
        larger.copyMemory(from: bytes, byteCount: byteCount)
        bytes.deallocate()
        bytes = larger
    }

    private mutating func growSlots() {
        let larger = UnsafeMutablePointer<Slot>.allocate(capacity: slotCapacity * 2)
        larger.moveInitialize(from: slots, count: count)
        slots.deallocate()
        slots = larger
        slotCapacity *= 2
    }
}
