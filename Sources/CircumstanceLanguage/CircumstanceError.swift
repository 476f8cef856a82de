/// The text is no expression of a circumstance. Nothing was made of it.
public struct CircumstanceError: Error, Equatable, Sendable {
    /// What is wrong and, where something similar exists, what was probably meant.
    public let message: String
    /// Where it is wrong: the first character of the offending word, counted in Unicode scalars from 0; the length of the text
    /// when something is missing at its end; ``CircumstanceExpression/maximumLength`` when the text is too long.
    public let position: Int

    public init(message: String, position: Int) {
        self.message = message
        self.position = position
    }
}
