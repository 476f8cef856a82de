import Records
import Wire

/// What the components of all datasets share.
final class Shared {
    let limits: HubLimits
    /// How a door calls what leaves.
    let naming: Naming
    let parser = JSONParser()
    let liveStates = LiveStates()
    let outbox: Outbox

    init(limits: HubLimits = HubLimits(), naming: Naming = HubConfiguration().naming) {
        self.limits = limits
        self.naming = naming
        outbox = Outbox(limits: limits, naming: naming)
    }
}
