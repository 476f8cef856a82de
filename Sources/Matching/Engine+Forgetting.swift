extension Engine {
    /// Forgets the pairs of a device's publications and subscriptions, silently: what they met, they have never met. Its visits are to
    /// have ended before, as they do when it has no position.
    public func forgetPairs(of d: DeviceRef) {
        for publication in publications(of: d) { forgetPairs(.publication, publication.index) }
        for subscription in subscriptions(of: d) { forgetPairs(.subscription, subscription.index) }
    }

    func forgetPairs(_ side: Side, _ index: UInt32) {
        let entry = state.pointee.entry(side, index)
        while entry.pointee.firstPair != none { state.pointee.unlink(entry.pointee.firstPair) }
    }
}
