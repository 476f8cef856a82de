/// A piece of an S-expression with the place where it begins.
struct Form {
    enum Kind {
        case word(String)
        case quoted(String)
        case list([Form])
    }

    let kind: Kind
    /// Unicode scalars from 0.
    let position: Int

    var word: String? { if case .word(let word) = kind { word } else { nil } }

    /// How it is called in a refusal.
    var description: String {
        switch kind {
        case .word(let word): word
        case .quoted(let text): "\"\(text)\""
        case .list: "(…)"
        }
    }
}
