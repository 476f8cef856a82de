import Records

extension LiveStateRecord {
    /// What is left of a state whose dataset was deleted: nothing is known of it, but somebody may still keep it.
    static func remnant(of state: LiveState) -> LiveStateRecord {
        LiveStateRecord(
            dataset: state.dataset.id, topic: state.topic, timestamp: .min, receivedAt: state.receivedAt, number: state.number,
            payload: nil)
    }

    var isRemnant: Bool { payload == nil && timestamp == .min }

    init(_ state: LiveState) {
        self.init(
            dataset: state.dataset.id, topic: state.topic, timestamp: state.timestamp, receivedAt: state.receivedAt,
            number: state.number, payload: state.payload)
    }
}
