/// Reads the one S-expression of a text: words, quoted texts, lists in parentheses, comments from `;` to the end of the line.
struct FormReader {
    private let scalars: [Unicode.Scalar]
    private var index = 0
    private var count = 0

    /// The length, the depth and the number of parts are bounded before anything is made of them.
    static func read(_ text: String) throws(CircumstanceError) -> Form {
        var scalars: [Unicode.Scalar] = []
        for scalar in text.unicodeScalars {
            guard scalars.count < CircumstanceExpression.maximumLength else {
                throw CircumstanceError(
                    message: "an expression has at most \(CircumstanceExpression.maximumLength) characters",
                    position: CircumstanceExpression.maximumLength)
            }
            scalars.append(scalar)
        }
        var reader = FormReader(scalars: scalars)
        return try reader.only()
    }

    private init(scalars: [Unicode.Scalar]) {
        self.scalars = scalars
    }

    private mutating func only() throws(CircumstanceError) -> Form {
        skipSpace()
        guard index < scalars.count else { throw refused("an expression is expected", index) }
        let form = try next(depth: 1)
        skipSpace()
        guard index == scalars.count else {
            throw refused(
                scalars[index] == ")"
                    ? "this parenthesis closes nothing" : "the expression ends before this; join expressions with and or or",
                index)
        }
        return form
    }

    private mutating func next(depth: Int) throws(CircumstanceError) -> Form {
        let start = index
        count += 1
        guard count <= CircumstanceExpression.partsMax else {
            throw refused("an expression has at most \(CircumstanceExpression.partsMax) parts", start)
        }
        let scalar = scalars[index]
        if scalar == "(" { return try list(depth: depth) }
        if scalar == ")" { throw refused("this parenthesis closes nothing", start) }
        if scalar.opensText { return Form(kind: .quoted(try quoted()), position: start) }
        if scalar == "'" { throw refused("a text is written in double quotes", start) }
        while index < scalars.count, !scalars[index].endsWord { index += 1 }
        return Form(kind: .word(text(scalars[start..<index])), position: start)
    }

    private mutating func list(depth: Int) throws(CircumstanceError) -> Form {
        let start = index
        guard depth <= CircumstanceExpression.depthMax else {
            throw refused("parentheses nest at most \(CircumstanceExpression.depthMax) deep", start)
        }
        index += 1
        var items: [Form] = []
        while true {
            skipSpace()
            guard index < scalars.count else { throw refused("a closing parenthesis is missing", index) }
            if scalars[index] == ")" { break }
            items.append(try next(depth: depth + 1))
        }
        index += 1
        return Form(kind: .list(items), position: start)
    }

    /// Between its quotes; `\"` and `\\` mean the character itself. What a phone's keyboard opened with “ ends at ” or ".
    private mutating func quoted() throws(CircumstanceError) -> String {
        let start = index
        let isPlain = scalars[start] == "\""
        var text = String.UnicodeScalarView()
        index += 1
        while index < scalars.count {
            let scalar = scalars[index]
            index += 1
            if scalar == "\"" || (!isPlain && scalar.opensText) { return String(text) }
            if scalar == "\\", index < scalars.count, scalars[index] == "\\" || scalars[index].opensText {
                text.append(scalars[index])
                index += 1
            } else {
                text.append(scalar)
            }
        }
        throw refused("the text is not closed", start)
    }

    private mutating func skipSpace() {
        while index < scalars.count {
            if scalars[index] == ";" {
                while index < scalars.count, !scalars[index].endsLine { index += 1 }
            } else if scalars[index].isSpace {
                index += 1
            } else {
                return
            }
        }
    }

    private func text(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: scalars)
        return String(view)
    }

    private func refused(_ message: String, _ position: Int) -> CircumstanceError {
        CircumstanceError(message: message, position: position)
    }
}

extension Unicode.Scalar {
    fileprivate var isSpace: Bool { properties.isWhitespace || self == "\u{FEFF}" }
    fileprivate var endsLine: Bool { self == "\n" || self == "\r" || self == "\u{2028}" || self == "\u{2029}" }
    fileprivate var opensText: Bool { self == "\"" || self == "\u{201C}" || self == "\u{201D}" || self == "\u{201E}" }
    fileprivate var endsWord: Bool { isSpace || opensText || self == "(" || self == ")" || self == ";" || self == "'" }
}
