/// Why a selector is TRUE, FALSE or unknown for the properties of one publication.
public struct SelectorExplanation: Equatable, Sendable {
    /// One comparison that decided, with the values it saw.
    public struct Finding: Equatable, Sendable {
        /// In plain words: `price 600 < 500 is false`, or `kind is missing, so kind = 'x' is unknown`.
        public let text: String
        /// What the words say, the truth of the whole; nil is unknown. Under an odd number of NOTs they are about the negation.
        public let truth: Bool?
    }

    /// The most findings that are shown.
    public static let findingsMaximum = 16
    /// The most Unicode scalars of one finding.
    public static let findingLengthMaximum = 400

    /// As the selector itself has it; nil is unknown.
    public let truth: Bool?
    /// What decided, in the order of the text, each once. Of AND that is FALSE only its FALSE operands, of OR that is TRUE only its
    /// TRUE ones, of what is unknown the unknown ones; otherwise all. Empty for a selector without a condition.
    public let findings: [Finding]
    /// How many more there are than are shown.
    public let omitted: Int

    /// The findings as one sentence of at most some 7,000 scalars.
    public var sentence: String {
        let shown = findings.map(\.text).joined(separator: "; ")
        return omitted == 0 ? shown : shown + "; and \(omitted) more"
    }
}

extension Selector {
    /// Why the selector is what it is for these properties.
    ///
    /// Reads the text anew and takes time proportional to its length; meant for people who ask, not for matching. The findings are
    /// judged by the same machine as the selector.
    public func explain(_ properties: Properties) -> SelectorExplanation {
        guard !matchesAll, var parser = try? Parser(Array(normalised.unicodeScalars)), let expression = try? parser.parse()
        else { return SelectorExplanation(truth: evaluate(properties), findings: [], omitted: 0) }
        var explainer = Explainer(properties)
        return explainer.explain(expression)
    }
}
