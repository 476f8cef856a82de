import Records
import Selectors
import Wire

/// What the components of all datasets share.
final class Shared {
    var configuration: HubConfiguration
    let limits: HubLimits
    /// How a door calls what leaves.
    let naming: Naming
    let parser = JSONParser()
    let liveStates = LiveStates()
    let liveSubscribers: LiveSubscribers
    /// Where live states change, and what follows from that.
    private(set) lazy var live = LiveBook(self)
    let followers: Followers
    let outbox: Outbox
    /// The keys that requests made.
    let accessKeys = AccessKeys()
    let administrators: AccessPatterns
    /// Of ``Geomatching/eventsVersion``, over all datasets.
    var lastEventsVersion = 0
    var pushTests = PendingPushTests()
    /// When datasets were last deleted, for thirty days, whether or not they exist again. A repeated update neither creates one of them
    /// nor brings back what it held.
    var deletedDatasets: [String: Int64] = [:]
    /// Where work goes on in portions, see ``Hub/continueWork(_:)``.
    var unfinished = UnfinishedDatasets()
    /// Of ``EvaluationBudget``, as last seen.
    var exceededCount = EvaluationBudget.exceededCount

    init(_ configuration: HubConfiguration = HubConfiguration()) {
        self.configuration = configuration
        limits = configuration.limits
        naming = configuration.naming
        administrators = configuration.administrators
        outbox = Outbox(limits: limits, naming: naming, numbering: configuration.numbering)
        followers = Followers(administrators: administrators, mayName: configuration.mayName)
        liveSubscribers = LiveSubscribers(configuration, states: liveStates, parser: parser)
    }
}
