/// A circumstance that is evaluated for devices: enabled, with a trigger.
final class ActiveCircumstance {
    let circumstance: UInt32
    let trigger: CircumstanceRule.Trigger
    let program: Program
    let owner: UInt32
    /// Ids and groups; empty for no limit.
    let devices: Set<IdentityText>
    let nearRadius: Double
    let exitMargin: Double
    /// Nil where it can be true far from all places.
    let preconditions: [Precondition]?
    /// The places it is about, and those of its preconditions, but for the ones it names.
    let queries: Set<PlaceQuery>
    let preconditionQueries: Set<PlaceQuery>
    let namings: [Naming]
    /// As of its program.
    let basis: Basis
    /// Devices evaluated with an earlier epoch have not seen it; 0 when all have.
    var epoch: UInt32 = 0
    /// The first value is taken silently.
    var isSilent = false

    init(_ entry: CircumstanceEntry, circumstance: UInt32, trigger: CircumstanceRule.Trigger, in table: PredicateTable) {
        self.circumstance = circumstance
        self.trigger = trigger
        program = entry.program
        owner = entry.owner
        devices = entry.devices
        nearRadius = entry.rule.nearRadius
        exitMargin = entry.rule.exitMargin
        preconditions = program.preconditions(nearRadius: nearRadius, exitMargin: exitMargin, in: table)
        basis = program.basis
        let preconditions = preconditions ?? []
        queries = program.queries(nearRadius: nearRadius, exitMargin: exitMargin, in: table)
        preconditionQueries = Set(preconditions.flatMap { $0.queries(in: table) })
        namings = program.namings(
            nearRadius: nearRadius, exitMargin: exitMargin, Set(preconditions.flatMap(\.predicates)), in: table)
    }
}

/// A registered circumstance, active or not.
struct CircumstanceEntry {
    var rule: CircumstanceRule
    var program: Program
    var owner: UInt32
    var devices: Set<IdentityText>
    /// Its number among the active ones.
    var active: UInt32?
}
