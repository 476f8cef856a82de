/// Which packet number belongs to which token.
///
/// libmosquitto numbers every publish, QoS 0 too, from 1 to 65535 and round again, and does not look whether a number is
/// still in use. So this does.
struct PacketNumbers: ~Copyable {
    private let tokens = UnsafeMutablePointer<UInt64>.allocate(capacity: 1 << 16)
    private let used = UnsafeMutablePointer<UInt64>.allocate(capacity: 1 << 10)
    private(set) var outstanding = 0
    /// The number the library gave last.
    var last: UInt16 = 0

    init() { used.initialize(repeating: 0, count: 1 << 10) }

    deinit {
        tokens.deallocate()
        used.deallocate()
    }

    /// Whether the number that comes next still waits for its acknowledgement.
    var nextIsTaken: Bool { isUsed(last == .max ? 1 : last + 1) }

    mutating func await(_ token: UInt64, number: UInt16) {
        guard !isUsed(number) else { return }
        used[Int(number >> 6)] |= 1 << UInt64(number & 63)
        (tokens + Int(number)).initialize(to: token)
        outstanding += 1
    }

    /// The token of `number`, which is free from now on; `nil` if nobody waits for it.
    mutating func answer(_ number: UInt16) -> UInt64? {
        guard isUsed(number) else { return nil }
        used[Int(number >> 6)] &= ~(1 << UInt64(number & 63))
        outstanding -= 1
        return tokens[Int(number)]
    }

    private func isUsed(_ number: UInt16) -> Bool { used[Int(number >> 6)] & 1 << UInt64(number & 63) != 0 }
}
