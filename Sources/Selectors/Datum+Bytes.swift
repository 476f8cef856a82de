extension Datum {
    /// Calls `body` with the UTF-8 of a string.
    ///
    /// - Parameter base: the words a long string lives in.
    @inline(__always)
    func withBytes<Result>(
        in base: UnsafePointer<UInt64>, _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        if isLongString {
            let start = base + index
            let bytes = UnsafeRawPointer(start + 1).assumingMemoryBound(to: UInt8.self)
            return body(UnsafeBufferPointer(start: bytes, count: Int(truncatingIfNeeded: start[0])))
        }
        let words = (low.littleEndian, high.littleEndian)
        return withUnsafeBytes(of: words) { raw in
            body(UnsafeBufferPointer(rebasing: raw.assumingMemoryBound(to: UInt8.self)[..<Int(truncatingIfNeeded: tag)]))
        }
    }
}
