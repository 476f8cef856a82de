// Every spelling that a resolver or another client would take for an address is read as one here, so that none slips past the policy
// as a name. Source: WHATWG URL, "IPv4 parser", which is inet_aton; RFC 4291 section 2.2 for IPv6.

extension IPAddress {
    /// Whether a host is meant as an IPv4 address, well formed or not: its last part is a number.
    static func isNumeric(host: String) -> Bool {
        guard let last = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: true).last else { return false }
        return last.allSatisfy(isDigit) || number(last) != nil
    }

    /// One to four numbers, decimal, octal after `0` or hexadecimal after `0x`; the last fills what is left: `127.1`, `0x7f000001`.
    init?(v4 text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard (1...4).contains(parts.count) else { return nil }
        var address: UInt32 = 0
        for (index, part) in parts.enumerated() {
            guard let value = Self.number(part) else { return nil }
            if index < parts.count - 1 {
                guard value <= 255 else { return nil }
                address |= UInt32(value) << UInt32(24 - 8 * index)
            } else {
                guard value < UInt64(1) << UInt64(8 * (4 - index)) else { return nil }
                address |= UInt32(value)
            }
        }
        self = .v4(address)
    }

    /// Groups of hex, one `::` at most, an IPv4 address in place of the last two; no zone.
    init?(v6 text: Substring) {
        guard text.utf8.count <= 45 else { return nil }
        guard let gap = text.utf8.firstRange(ofDoubleColon: ()) else {
            guard let groups = Self.groups(text), groups.count == 8 else { return nil }
            self.init(groups: groups)
            return
        }
        guard let before = Self.groups(text[..<gap], isLast: false),
            let after = Self.groups(text[text.utf8.index(gap, offsetBy: 2)...]), before.count + after.count <= 7
        else { return nil }
        self.init(groups: before + [UInt16](repeating: 0, count: 8 - before.count - after.count) + after)
    }

    private init(groups: [UInt16]) {
        self = .v6(
            high: groups.prefix(4).reduce(0) { $0 << 16 | UInt64($1) },
            low: groups.dropFirst(4).reduce(0) { $0 << 16 | UInt64($1) })
    }

    private static func groups(_ text: Substring, isLast: Bool = true) -> [UInt16]? {
        if text.isEmpty { return [] }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        var groups: [UInt16] = []
        for (index, part) in parts.enumerated() {
            if isLast, index == parts.count - 1, part.utf8.contains(UInt8(ascii: ".")) {
                guard let tail = dotted(part) else { return nil }
                groups += [UInt16(tail >> 16), UInt16(tail & 0xFFFF)]
                continue
            }
            guard (1...4).contains(part.utf8.count), part.utf8.allSatisfy(isHexDigit), let group = UInt16(part, radix: 16) else {
                return nil
            }
            groups.append(group)
        }
        return groups
    }

    /// Four decimal numbers and nothing else: inside IPv6 there are no other spellings.
    private static func dotted(_ text: Substring) -> UInt32? {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var address: UInt32 = 0
        for part in parts {
            guard part.count <= 3, part.count == 1 || part.first != UInt8(ascii: "0"), part.allSatisfy(isDigit),
                let value = number(part), value <= 255
            else { return nil }
            address = address << 8 | UInt32(value)
        }
        return address
    }

    /// - Returns: nil where it is no number, or far too large.
    private static func number(_ digits: Substring.UTF8View.SubSequence) -> UInt64? {
        guard let first = digits.first else { return nil }
        var rest = digits
        var radix: UInt64 = 10
        if first == UInt8(ascii: "0"), digits.count > 1 {
            rest = digits.dropFirst()
            radix = 8
            if let x = rest.first, x | 0x20 == UInt8(ascii: "x") {
                rest = rest.dropFirst()
                radix = 16
            }
        }
        var value: UInt64 = 0
        for byte in rest {
            guard let digit = hexValue(byte), digit < radix, value <= UInt64(UInt32.max) else { return nil }
            value = value * radix + digit
        }
        return value
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func isHexDigit(_ byte: UInt8) -> Bool { hexValue(byte) != nil }

    private static func hexValue(_ byte: UInt8) -> UInt64? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt64(byte - UInt8(ascii: "a")) + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt64(byte - UInt8(ascii: "A")) + 10
        default: nil
        }
    }
}

extension Substring.UTF8View {
    fileprivate func firstRange(ofDoubleColon: Void) -> Index? {
        var index = startIndex
        while index != endIndex {
            let next = self.index(after: index)
            if next != endIndex, self[index] == UInt8(ascii: ":"), self[next] == UInt8(ascii: ":") { return index }
            index = next
        }
        return nil
    }
}
