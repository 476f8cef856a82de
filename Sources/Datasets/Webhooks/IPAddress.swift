/// An IPv4 or IPv6 address.
public enum IPAddress: Hashable, Sendable {
    /// As a number, the first octet in the highest bits.
    case v4(UInt32)
    /// As two numbers, the first group in the highest bits of `high`.
    case v6(high: UInt64, low: UInt64)

    /// From the bytes of a socket address, in network order.
    ///
    /// - Returns: nil unless there are 4 or 16.
    public init?(bytes: some Collection<UInt8>) {
        switch bytes.count {
        case 4: self = .v4(bytes.reduce(0) { $0 << 8 | UInt32($1) })
        case 16:
            self = .v6(
                high: bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) },
                low: bytes.dropFirst(8).reduce(0) { $0 << 8 | UInt64($1) })
        default: return nil
        }
    }
}

extension IPAddress: CustomStringConvertible {
    /// `192.0.2.1`, or the eight groups of IPv6 in hex, uncompressed and without brackets.
    public var description: String {
        switch self {
        case .v4(let number):
            return [24, 16, 8, 0].map { String(number >> $0 & 0xFF) }.joined(separator: ".")
        case .v6(let high, let low):
            return [high, low].flatMap { half in [48, 32, 16, 0].map { String(half >> $0 & 0xFFFF, radix: 16) } }
                .joined(separator: ":")
        }
    }
}
