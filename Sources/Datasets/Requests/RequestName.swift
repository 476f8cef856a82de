/// Every request this daemon answers, by its `resource/verb`.
enum RequestName: String, CaseIterable {
    case datasetCreate = "dataset/create"
    case datasetGet = "dataset/get"
    case datasetUpdate = "dataset/update"
    case datasetList = "dataset/list"
    case datasetDelete = "dataset/delete"
    case datasetImport = "dataset/import"
    case deviceCreate = "device/create"
    case deviceGet = "device/get"
    case deviceList = "device/list"
    case deviceUpdate = "device/update"
    case deviceDelete = "device/delete"
    case deviceForget = "device/forget"
    case publicationCreate = "publication/create"
    case publicationGet = "publication/get"
    case publicationList = "publication/list"
    case publicationUpdate = "publication/update"
    case publicationDelete = "publication/delete"
    case subscriptionCreate = "subscription/create"
    case subscriptionGet = "subscription/get"
    case subscriptionList = "subscription/list"
    case subscriptionUpdate = "subscription/update"
    case subscriptionDelete = "subscription/delete"
    case matchGet = "match/get"
    case matchList = "match/list"
    case liveSubscribe = "live/subscribe"
    case liveRenew = "live/renew"
    case liveUnsubscribe = "live/unsubscribe"
    case liveList = "live/list"
    case liveSnapshot = "live/snapshot"
    case matchExplain = "match/explain"
    case beaconList = "beacon/list"
    case beaconMonitor = "beacon/monitor"
    case beaconUnmonitor = "beacon/unmonitor"
    case categoryImport = "category/import"
    case categoryList = "category/list"
    case placeImport = "place/import"
    case placeGet = "place/get"
    case placeList = "place/list"
    case placeDelete = "place/delete"
    case placeCandidates = "place/candidates"
    case placeVerify = "place/verify"
    case circumstanceRegister = "circumstance/register"
    case circumstanceEnable = "circumstance/enable"
    case circumstanceDisable = "circumstance/disable"
    case circumstanceUnregister = "circumstance/unregister"
    case circumstanceList = "circumstance/list"
    case circumstanceEvaluate = "circumstance/evaluate"
    case circumstanceEvaluateAll = "circumstance/evaluateAll"
    case changesGet = "changes/get"
    case changesFollow = "changes/follow"
    case changesUnfollow = "changes/unfollow"
    case changesConflicts = "changes/conflicts"
    case changesPush = "changes/push"

    /// Only administrators may ask it.
    var isForAdministrators: Bool {
        switch self {
        case .datasetCreate, .datasetUpdate, .datasetList, .datasetDelete, .datasetImport: true
        default: false
        }
    }

    /// It changes something that must be durable before its reply.
    var changes: Bool {
        switch self {
        case .datasetGet, .datasetList, .deviceGet, .deviceList, .publicationGet, .publicationList, .subscriptionGet,
            .subscriptionList, .matchGet, .matchList, .matchExplain, .liveList, .liveSnapshot, .categoryList, .placeGet,
            .placeList, .placeCandidates, .circumstanceList, .circumstanceEvaluate, .circumstanceEvaluateAll, .changesGet,
            .changesFollow, .changesUnfollow, .changesConflicts, .beaconList:
            false
        default: true
        }
    }

    /// A first one creates its dataset where auto-creation is on.
    var createsDataset: Bool {
        switch self {
        case .datasetCreate, .datasetImport, .deviceCreate, .publicationCreate, .subscriptionCreate, .categoryImport,
            .placeImport, .circumstanceRegister:
            true
        default: false
        }
    }
}
