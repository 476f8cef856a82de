/// The texts of one place as they are kept in the arena: a word of lengths, then the bytes of id, name and revision.
struct PlaceText {
    private let words: UnsafeMutablePointer<UInt64>

    init(_ words: UnsafeMutablePointer<UInt64>) { self.words = words }

    private var idLength: Int { Int(words[0] & 0xFFFF) }
    /// 0xFFFF: there is none.
    private var nameLength: Int { Int(words[0] >> 16 & 0xFFFF) }
    private var revisionLength: Int { Int(words[0] >> 32 & 0xFFFF) }

    var wordCount: Int { Self.wordCount(idLength, Self.stored(nameLength), Self.stored(revisionLength)) }

    private static let none = 0xFFFF

    private static func stored(_ length: Int) -> Int { length == none ? 0 : length }

    private static func wordCount(_ id: Int, _ name: Int, _ revision: Int) -> Int { 1 + (id + name + revision + 7) / 8 }

    static func wordCount(of place: Place) -> Int {
        wordCount(place.id.utf8.count, place.name?.utf8.count ?? 0, place.revision?.utf8.count ?? 0)
    }

    @inline(__always)
    var id: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: words + 1, count: idLength) }

    var name: String? { text(nameLength, after: idLength) }
    var revision: String? { text(revisionLength, after: idLength + Self.stored(nameLength)) }

    private func text(_ length: Int, after offset: Int) -> String? {
        guard length != Self.none else { return nil }
        let bytes = UnsafeRawBufferPointer(start: UnsafeRawPointer(words + 1) + offset, count: length)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Lengths below 65535 bytes, which the table checked.
    func write(_ place: Place) {
        let lengths = [place.id.utf8.count, place.name?.utf8.count ?? Self.none, place.revision?.utf8.count ?? Self.none]
        words[0] = UInt64(lengths[0]) | UInt64(lengths[1]) << 16 | UInt64(lengths[2]) << 32
        var target = UnsafeMutableRawPointer(words + 1)
        func append(_ text: String) {
            text.withBytes { bytes in
                if let base = bytes.baseAddress { target.copyMemory(from: base, byteCount: bytes.count) }
                target += bytes.count
            }
        }
        append(place.id)
        if let name = place.name { append(name) }
        if let revision = place.revision { append(revision) }
    }
}
