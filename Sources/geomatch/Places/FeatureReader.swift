import Glibc

/// Takes the features out of a file of any size, one after the other, in constant memory.
///
/// Read are GeoJSON FeatureCollections, single features, and sequences of either: one on each line, or RFC 8142. What lies around
/// the features is only looked through for where they begin and end.
final class FeatureReader {
    struct Failure: Error, Equatable {
        var reason: String
    }

    enum Element: Equatable {
        /// The bytes of one feature, which nobody has parsed yet.
        case feature([UInt8])
        /// A feature of more than ``featureBytesMax`` bytes.
        case tooLong(bytes: Int)
    }

    /// A feature has to fit into a request.
    static let featureBytesMax = 250 << 10

    /// Bytes looked through so far.
    private(set) var bytesRead = 0

    private let read: (UnsafeMutableRawBufferPointer) -> Int
    private var buffer: [UInt8] = []
    /// What one reading takes.
    private var piece = [UInt8](repeating: 0, count: pieceBytes)
    private var place = 0
    /// From where on bytes are kept, while a feature is looked through.
    private var mark: Int?
    private var skipped = 0
    private var isInFeatures = false
    private var isAtEnd = false

    private static let pieceBytes = 1 << 20

    /// - Parameter read: Fills a buffer from its start; returns how many bytes, 0 at the end, below 0 for a failure.
    init(read: @escaping (UnsafeMutableRawBufferPointer) -> Int) { self.read = read }

    convenience init(descriptor: Int32) {
        self.init { buffer in
            while true {
                let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                if count >= 0 || errno != EINTR { return count }
            }
        }
    }

    /// The next feature; nil behind the last one.
    ///
    /// - Throws: Where what is read is not JSON.
    func next() throws(Failure) -> Element? {
        while true {
            if isInFeatures {
                if let element = try nextOfCollection() { return element }
            } else if let byte = try peek() {
                // A record separator (RFC 8142) or a comma between two texts is nobody's business.
                if byte == 0x1E || byte == UInt8(ascii: ",") {
                    place += 1
                } else if let element = try topLevel() {
                    return element
                }
            } else {
                return nil
            }
        }
    }

    // MARK: Texts

    /// A text of its own: a feature, or the beginning of a FeatureCollection.
    private func topLevel() throws(Failure) -> Element? {
        mark = place
        skipped = 0
        guard try skip(UInt8(ascii: "{")) else { throw failure("where a feature should begin") }
        return try members()
    }

    /// The members of an object; nil where `features` begins, or none were in it.
    private func members(hadFeatures: Bool = false) throws(Failure) -> Element? {
        while try !skip(UInt8(ascii: "}")) {
            let key = try string()
            guard try skip(UInt8(ascii: ":")) else { throw failure("behind a key") }
            if key.elementsEqual("features".utf8), try skip(UInt8(ascii: "[")) {
                mark = nil
                isInFeatures = true
                return nil
            }
            try skipValue()
            _ = try skip(UInt8(ascii: ","))
        }
        if hadFeatures {
            mark = nil
            return nil
        }
        return taken()
    }

    private func nextOfCollection() throws(Failure) -> Element? {
        _ = try skip(UInt8(ascii: ","))
        if try skip(UInt8(ascii: "]")) {
            isInFeatures = false
            _ = try skip(UInt8(ascii: ","))
            return try members(hadFeatures: true)
        }
        guard try peek() != nil else { throw failure("before the end of `features`") }
        mark = place
        skipped = 0
        try skipValue()
        return taken()
    }

    private func taken() -> Element {
        defer { mark = nil }
        guard let mark, place - mark + skipped <= Self.featureBytesMax else {
            return .tooLong(bytes: place - (mark ?? place) + skipped)
        }
        return .feature(Array(buffer[mark..<place]))
    }

    // MARK: Bytes

    private func failure(_ place: String) -> Failure {
        Failure(reason: "it is not JSON at byte \(bytesRead + self.place) \(place)")
    }

    private func peek() throws(Failure) -> UInt8? {
        while true {
            while place < buffer.count {
                let byte = buffer[place]
                let isMark = bytesRead + place < 3 && [0xEF, 0xBB, 0xBF][bytesRead + place] == byte
                guard byte == 0x20 || (0x09...0x0D).contains(byte) || isMark else { return byte }
                place += 1
            }
            guard try refill() else { return nil }
        }
    }

    private func skip(_ byte: UInt8) throws(Failure) -> Bool {
        guard try peek() == byte else { return false }
        place += 1
        return true
    }

    /// A key, as it is written: of interest is only whether it is `features`.
    private func string() throws(Failure) -> [UInt8] {
        guard try skip(UInt8(ascii: "\"")) else { throw failure("where a key should begin") }
        var bytes: [UInt8] = []
        var isEscaped = false
        while true {
            while place < buffer.count {
                let byte = buffer[place]
                place += 1
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    return bytes
                }
                if bytes.count < 64 { bytes.append(byte) }
            }
            guard try refill() else { throw failure("in a key") }
        }
    }

    private func skipValue() throws(Failure) {
        guard let first = try peek() else { throw failure("where a value should begin") }
        switch first {
        case UInt8(ascii: ","), UInt8(ascii: "]"), UInt8(ascii: "}"), UInt8(ascii: ":"):
            throw failure("where a value should begin")
        default: break
        }
        var scan = ValueScan()
        while true {
            place = buffer.withUnsafeBufferPointer { scan.advance(through: $0, from: place) }
            if scan.isDone { return }
            guard try refill() else {
                guard scan.mayEnd else { throw failure("in a value") }
                return
            }
        }
    }

    /// Reads on, dropping what is not needed any more; false at the end.
    private func refill() throws(Failure) -> Bool {
        guard !isAtEnd else { return false }
        if let mark, place - mark > Self.featureBytesMax {
            // It is too long, whatever follows.
            skipped += place - mark
            self.mark = place
        }
        let start = mark ?? place
        buffer.removeSubrange(..<start)
        bytesRead += start
        place -= start
        if mark != nil { mark = 0 }
        let count = piece.withUnsafeMutableBytes { read($0) }
        let code = errno
        if count > 0 { buffer.append(contentsOf: piece.prefix(count)) }
        guard count >= 0 else { throw Failure(reason: String(cString: strerror(code))) }
        isAtEnd = count == 0
        return count > 0
    }
}

/// Finds the end of one JSON value, in as many pieces as it comes.
private struct ValueScan {
    private var depth = 0
    private var isInString = false
    private var isEscaped = false
    private var isScalar = false
    private(set) var isDone = false

    /// The input may end here: a number or a word needs nothing behind it.
    var mayEnd: Bool { isScalar && depth == 0 }

    /// - Returns: The place behind the value, or the end of the bytes where it goes on.
    mutating func advance(through bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        var place = start
        while place < bytes.count {
            let byte = bytes[place]
            if isInString {
                place += 1
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                    if end() { return place }
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""):
                isInString = true
                place += 1
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                place += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                // It belongs to what holds a scalar.
                guard depth > 0 else {
                    isDone = true
                    return place
                }
                depth -= 1
                place += 1
                if end() { return place }
            case UInt8(ascii: ","), 0x09...0x0D, 0x20:
                guard depth > 0 else {
                    isDone = true
                    return place
                }
                place += 1
            default:
                isScalar = true
                place += 1
            }
        }
        return place
    }

    private mutating func end() -> Bool {
        isDone = depth == 0
        return isDone
    }
}
