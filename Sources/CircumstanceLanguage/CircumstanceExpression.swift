/// The expression of a circumstance.
///
/// S-expressions; `;` begins a comment up to the end of the line, texts are in `"…"` or “…”:
///
///     (and (at (= category-id "museum")) (not is-open) (> local-minute-of-day 1080))
///
/// - Over the device: `(at P…)`, `(near P…)`, `(visited P…)`, `(frequents P… visits days)`, `(dwelling seconds)`, `(moving)`,
///   `(live domain property op value)`.
/// - `P`, over one place: `(= key id)` and `(any-of key id…)` with the keys `factual-id` (or `place-id`), `category-id` (descendants
///   included), `exact-category-id` and `chain-id`; `any-factual-place`, `is-open` (or `is_open`), `has-open-hours`,
///   `(= threshold-met "high")`. Several are all true of the same place.
/// - Over both: `and`, `or`, `not`, `true`; `local-day-of-week` (1 is Monday, or `mon` to `sun`) and `local-minute-of-day` with
///   `= < > <= >=` and `any-of`.
///
/// `at` and `near` do not nest. A bare `is-open` or `(not is-open)` in an `and` beside exactly one `at` or `near` belongs to that.
public struct CircumstanceExpression: Equatable, Sendable {
    /// Unicode scalars.
    public static let maximumLength = 16_384
    /// Words, texts and lists together.
    public static let partsMax = 1024
    public static let depthMax = 64
    /// Visits that `frequents` may ask for.
    public static let visitsMax = 128

    public let condition: Condition
    /// The normalised text: one way to write each expression, which is read as the same expression again.
    public let text: String

    /// Reads the text. Throws where it is wrong and why.
    public init(_ text: String) throws(CircumstanceError) {
        condition = try ConditionParser().condition(FormReader.read(text))
        self.text = condition.text
    }
}
