/// The text is no selector. Nothing was made of it.
public struct SelectorError: Error, Equatable, Sendable {
    /// What is wrong, for the author of the selector.
    public let message: String
    /// Where it is wrong: the first character of the offending token, counted in Unicode scalars from 0; the length of the
    /// text when something is missing at its end; ``Selector/maximumLength`` when the text is too long.
    public let position: Int

    public init(message: String, position: Int) {
        self.message = message
        self.position = position
    }
}
