import CZlib

/// Reads the entries of a zip file that is held in memory.
///
/// Source: PKWARE, APPNOTE.TXT 6.3.10. What is read: stored and deflated entries, found by the central directory. Not read, and
/// reported as such: encryption, ZIP64, several disks, other methods. Nothing that the file says of sizes is believed: an entry that
/// grows beyond its bound, or beyond what its directory entry says, is refused while it is being unpacked.
struct ZipArchive {
    struct Entry: Equatable {
        /// With `/` between folders.
        var name: String
        fileprivate var method: UInt16
        fileprivate var flags: UInt16
        fileprivate var checksum: UInt32
        fileprivate var packedCount: Int
        fileprivate var count: Int
        fileprivate var offset: Int
    }

    struct Failure: Error, Equatable {
        var reason: String
    }

    let entries: [Entry]
    private let bytes: [UInt8]

    private static let entriesMax = 1000
    /// Bytes of one unpacked entry.
    static let unpackedMax = 256 << 20

    static func isZip(_ bytes: [UInt8]) -> Bool {
        bytes.starts(with: [0x50, 0x4B, 0x03, 0x04]) || bytes.starts(with: [0x50, 0x4B, 0x05, 0x06])
    }

    init(_ bytes: [UInt8]) throws(Failure) {
        self.bytes = bytes
        guard let end = Self.endOfDirectory(bytes) else { throw Failure(reason: "no zip directory is at its end") }
        let count = Int(bytes.uint16(end + 10))
        let start = Int(bytes.uint32(end + 16))
        guard bytes.uint16(end + 4) == 0, count != 0xFFFF, start != 0xFFFF_FFFF else {
            throw Failure(reason: "zip files of several disks and ZIP64 are not read")
        }
        guard count <= Self.entriesMax else { throw Failure(reason: "it has \(count) entries; \(Self.entriesMax) are read") }
        var entries: [Entry] = []
        var place = start
        for _ in 0..<count {
            guard place >= 0, place + 46 <= bytes.count, bytes.uint32(place) == 0x0201_4B50 else {
                throw Failure(reason: "its directory is damaged")
            }
            let nameEnd = place + 46 + Int(bytes.uint16(place + 28))
            guard nameEnd <= bytes.count else { throw Failure(reason: "its directory is damaged") }
            entries.append(
                Entry(
                    name: String(decoding: bytes[(place + 46)..<nameEnd], as: UTF8.self), method: bytes.uint16(place + 10),
                    flags: bytes.uint16(place + 8), checksum: bytes.uint32(place + 16),
                    packedCount: Int(bytes.uint32(place + 20)), count: Int(bytes.uint32(place + 24)),
                    offset: Int(bytes.uint32(place + 42))))
            place = nameEnd + Int(bytes.uint16(place + 30)) + Int(bytes.uint16(place + 32))
        }
        self.entries = entries
    }

    /// The content of an entry.
    ///
    /// - Parameter limit: Bytes it may have.
    func contents(of entry: Entry, limit: Int = Self.unpackedMax) throws(Failure) -> [UInt8] {
        guard entry.flags & 1 == 0 else { throw Failure(reason: "\(entry.name) is encrypted") }
        guard entry.count <= limit else { throw Failure(reason: "\(entry.name) is larger than \(limit >> 20) MiB") }
        // The local header repeats the name and has extra fields of its own length.
        guard entry.offset + 30 <= bytes.count, bytes.uint32(entry.offset) == 0x0403_4B50 else {
            throw Failure(reason: "\(entry.name) is not where the directory says")
        }
        let start = entry.offset + 30 + Int(bytes.uint16(entry.offset + 26)) + Int(bytes.uint16(entry.offset + 28))
        guard start + entry.packedCount <= bytes.count else { throw Failure(reason: "\(entry.name) is cut off") }
        let packed = bytes[start..<(start + entry.packedCount)]
        let content: [UInt8]
        switch entry.method {
        case 0: content = Array(packed)
        case 8: content = try Self.inflate(packed, count: entry.count, name: entry.name)
        default: throw Failure(reason: "\(entry.name) is packed by method \(entry.method), which is not read")
        }
        guard content.count == entry.count, Self.checksum(content) == entry.checksum else {
            throw Failure(reason: "\(entry.name) is damaged")
        }
        return content
    }

    /// Unpacks into exactly as many bytes as were announced: what wants more is damaged, or a bomb.
    private static func inflate(_ packed: ArraySlice<UInt8>, count: Int, name: String) throws(Failure) -> [UInt8] {
        var stream = z_stream()
        guard geomatch_inflate_begin(&stream) == Z_OK else { throw Failure(reason: "no memory to unpack \(name)") }
        defer { inflateEnd(&stream) }
        var input = Array(packed)
        var isWhole = false
        // One byte more shows that there would be more.
        var content = [UInt8](repeating: 0, count: count + 1)
        input.withUnsafeMutableBufferPointer { input in
            content.withUnsafeMutableBufferPointer { output in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(truncatingIfNeeded: input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(truncatingIfNeeded: output.count)
                isWhole = CZlib.inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_out == 1
            }
        }
        guard isWhole else { throw Failure(reason: "\(name) is damaged") }
        content.removeLast()
        return content
    }

    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        bytes.withUnsafeBufferPointer {
            UInt32(truncatingIfNeeded: crc32(0, $0.baseAddress, UInt32(truncatingIfNeeded: $0.count)))
        }
    }

    /// The end record is the last thing but a comment of at most 64 KiB.
    private static func endOfDirectory(_ bytes: [UInt8]) -> Int? {
        guard bytes.count >= 22 else { return nil }
        for place in stride(from: bytes.count - 22, through: max(0, bytes.count - 22 - 0xFFFF), by: -1)
        where bytes[place] == 0x50 && bytes.uint32(place) == 0x0605_4B50 {
            return place
        }
        return nil
    }
}

extension [UInt8] {
    /// Little-endian; the place is within the array.
    fileprivate func uint16(_ place: Int) -> UInt16 { UInt16(self[place]) | UInt16(self[place + 1]) << 8 }
    fileprivate func uint32(_ place: Int) -> UInt32 { UInt32(uint16(place)) | UInt32(uint16(place + 2)) << 16 }
}
