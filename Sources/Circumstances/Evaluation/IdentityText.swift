/// A text as a key, compared by its bytes: Swift compares strings by canonical equivalence, ids are compared as they are.
struct IdentityText: Hashable, Sendable {
    let text: String

    init(_ text: String) { self.text = text }

    static func == (left: IdentityText, right: IdentityText) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

    func hash(into hasher: inout Hasher) {
        var copy = text
        copy.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
