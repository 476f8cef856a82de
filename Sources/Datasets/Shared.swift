import Records
import Selectors
import Wire

/// What the components of all datasets share.
final class Shared {
    let limits: HubLimits
    /// How a door calls what leaves.
    let naming: Naming
    let parser = JSONParser()
    let liveStates = LiveStates()
    let outbox: Outbox
    let administrators: AccessPatterns
    /// Of ``Geomatching/eventsVersion``, over all datasets.
    var lastEventsVersion = 0
    /// Of ``EvaluationBudget``, as last seen.
    var exceededCount = EvaluationBudget.exceededCount

    init(
        limits: HubLimits = HubLimits(), naming: Naming = HubConfiguration().naming,
        administrators: AccessPatterns = HubConfiguration().administrators
    ) {
        self.limits = limits
        self.naming = naming
        self.administrators = administrators
        outbox = Outbox(limits: limits, naming: naming)
    }
}
