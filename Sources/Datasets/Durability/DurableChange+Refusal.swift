import Records

extension DurableChange {
    /// It follows from where devices are, what is asked for, and time: decided again where that changes.
    var isEvaluated: Bool {
        switch self {
        case .putPair, .putVisit, .deleteVisit, .putMatch, .putHints, .putHeld, .deleteHeld, .putIncident, .putPlaceVisit,
            .deletePlaceVisit, .putStay, .deletePublication, .deleteSubscription:
            true
        default: false
        }
    }

    /// The dataset that this change creates.
    var createdDataset: String? {
        if case .putDataset(let record) = self, Revision.generation(of: record.revision) == 1 { record.id } else { nil }
    }

    /// What it changes is not loaded again as a part of its dataset: memory knows it better, or it is too much.
    var isLoadedAlone: Bool {
        switch self {
        case .putPlace, .deletePlace, .putCategory, .putVerification, .putLiveState, .forgetLiveState, .putLiveSubscription,
            .deleteLiveSubscription, .putFollower, .deleteFollower:
            true
        default: false
        }
    }
}
