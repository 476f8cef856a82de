/// A condition on a publication's properties: SQL-92 conditional expressions with JMS typing and three-valued logic.
///
/// What the language leaves open is decided so: a lone number, string or arithmetic as a condition is FALSE (unknown without a
/// value); a condition in parentheses can be used as a boolean value; BETWEEN is two comparisons joined by AND, as in SQL-92; a
/// double property that is not finite is there, but every comparison of it is unknown.
///
/// A selector is immutable and may be shared and evaluated from any thread.
public final class Selector: Sendable {
    /// The largest length of a text, in Unicode scalars.
    public static let maximumLength = 4096
    /// The deepest nesting of parentheses, NOT and signs. A chain of AND, OR or operators is not nested.
    public static let maximumDepth = 64

    /// Written by the initialiser only. A variable, and without the checks of one, so that it runs where it lies; see
    /// ``Program``. Nothing that is called on it writes.
    @exclusivity(unchecked)
    private nonisolated(unsafe) var program: Program

    /// The text as given.
    public let text: String

    /// The one text of all selectors that mean the same token for token: white space, the case of keywords, the spellings `!=`
    /// and SOME, needless parentheses and quotes do not count. It is a selector itself, is never longer than ``text``, and
    /// its normalised text is itself. The empty string for a selector without a condition.
    public let normalised: String

    /// Names in double quotes where a text was probably meant, then comparisons that are false for every publication because their
    /// types differ, one sentence each, in the order of the text: `'a' > 1 can never be true: 'a' is a string and 1 is a number.`
    public let hints: [String]

    /// How many of its tests search texts or arrays.
    public let searches: Int

    /// - Parameter text: a selector; the empty string and mere white space match everything.
    /// - Throws: ``SelectorError`` with the position of the leftmost mistake.
    public init(_ text: String) throws(SelectorError) {
        let scalars = Array(text.unicodeScalars.prefix(Self.maximumLength + 1))
        guard scalars.count <= Self.maximumLength else {
            throw SelectorError(
                message: "a selector has at most \(Self.maximumLength) characters", position: Self.maximumLength)
        }
        var parser = try Parser(scalars)
        let expression = try parser.parse()
        self.text = text
        normalised = expression?.text(.compact) ?? ""
        hints = parser.doubts + (expression.map(TypeAdvice.hints) ?? [])
        searches = expression?.searchCount ?? 0
        program = expression.map { ProgramBuilder.program(of: $0) } ?? .empty
    }

    /// Whether there is no condition at all.
    public var matchesAll: Bool { normalised.isEmpty }

    /// The truth of the selector; nil is unknown. Takes time proportional to the lengths of the selector and of the
    /// strings and arrays it looks at, as far as ``EvaluationBudget`` allows: a test that exceeds its share is unknown.
    public func evaluate(_ properties: Properties) -> Bool? {
        switch program.truth(properties) {
        case 0: false
        case 1: true
        default: nil
        }
    }

    /// Whether the selector is TRUE; cheaper than ``evaluate(_:)``.
    public func matches(_ properties: Properties) -> Bool {
        program.passes(properties)
    }

    /// Comparisons that cannot be true for these properties because types differ, those of ``hints`` left out, in the same
    /// form: `age > 30 cannot be true here: age is a string and 30 is a number.`
    ///
    /// Reads the text anew; meant for explaining, not for matching.
    public func mismatches(in properties: Properties) -> [String] { Advisor(self).mismatches(in: properties) }

    /// A selector's text, read once more for what is said about it.
    public struct Advisor {
        private let expression: Expression?

        public init(_ selector: Selector) {
            var parser = try? Parser(Array(selector.normalised.unicodeScalars))
            expression = try? parser?.parse()
        }

        /// The properties that the selector names, in the order of its text, each once.
        public var names: [String] { expression?.names ?? [] }

        /// See ``Selector/mismatches(in:)``.
        public func mismatches(in properties: Properties) -> [String] {
            expression.map { TypeAdvice.mismatches(in: $0, properties) } ?? []
        }
    }
}

extension Selector: Hashable {
    /// Whether both have the same normalised text, scalar by scalar. Two strings that Swift holds equal may be two
    /// selectors (`'é'` precomposed and decomposed), so share programs by selectors, not by their texts.
    public static func == (left: Selector, right: Selector) -> Bool {
        left.normalised.utf8.elementsEqual(right.normalised.utf8)
    }

    public func hash(into hasher: inout Hasher) {
        for byte in normalised.utf8 { hasher.combine(byte) }
    }
}
