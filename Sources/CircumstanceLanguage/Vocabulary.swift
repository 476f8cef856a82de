/// The words of the language, as hints offer them.
enum Vocabulary {
    static let joins = ["and", "or", "not"]
    static let comparisons = Comparison.allCases.map(\.rawValue) + ["any-of"]
    static let identityKeys = IdentityKey.allCases.map(\.rawValue) + ["place-id"]
    static let timeKeys = TimeRule.Key.allCases.map(\.rawValue)
    static let keys = identityKeys + ["threshold-met"] + timeKeys
    static let placeWords = ["any-factual-place", "is-open", "is_open", "has-open-hours"]
    static let deviceForms = ["at", "near", "visited", "frequents", "dwelling", "moving", "live"]
    static let days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]

    /// What may begin a list or be alone.
    static let heads = deviceForms + joins + comparisons + placeWords + ["true"]
}
