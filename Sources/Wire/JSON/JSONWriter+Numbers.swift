extension JSONWriter {
    mutating func appendDecimal(_ value: Int64) {
        if value < 0 { bytes.append(UInt8(ascii: "-")) }
        appendDigits(value.magnitude, fraction: 0)
    }

    mutating func appendDecimal(_ value: Double) {
        guard value.isFinite else { return bytes.append(contentsOf: "null".utf8) }
        let magnitude = value.magnitude
        if magnitude < 0x1p53, let whole = value.whole { return appendDecimal(whole) }
        // Nearly every number on the wire was typed or rounded with a few decimals. Two decimals of at most 15
        // significant digits never share a double, so one that divides back to the value is the shortest form.
        if magnitude < 1e8 {
            let scaled = Int64(magnitude * 1e7 + 0.5)
            if scaled < 1_000_000_000_000_000, Double(scaled) / 1e7 == magnitude {
                if value < 0 { bytes.append(UInt8(ascii: "-")) }
                return appendDigits(scaled.magnitude, fraction: 7)
            }
        }
        bytes.append(contentsOf: value.description.utf8)
    }

    /// Appends `value` / 10^`fraction` without trailing zeros behind the point.
    private mutating func appendDigits(_ value: UInt64, fraction: Int) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 24) { digits in
            var rest = value
            var start = 24
            var end = 24
            var written = 0
            repeat {
                if written == fraction, fraction > 0 {
                    start -= 1
                    digits[start] = UInt8(ascii: ".")
                }
                let digit = UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
                start -= 1
                digits[start] = UInt8(ascii: "0") + digit
                written += 1
                // A trailing zero of the fraction is dropped by moving the end over it.
                if digit == 0, start == end - 1, written <= fraction { end = start }
            } while rest > 0 || written <= fraction
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: digits[start..<end]))
        }
    }
}
