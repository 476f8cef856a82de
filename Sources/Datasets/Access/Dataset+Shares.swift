import Wire

// Of each maximum of a dataset one client that is no administrator may hold a share only, see `limits.client-share`.

extension Dataset {
    /// How much of a maximum a client may hold.
    func share(of maximum: Int, for client: String) -> Int {
        shared.administrators.allow(client: client, in: id) ? maximum : shared.limits.share(of: maximum)
    }

    /// - Parameter owner: Whose it will be; nil for nobody's.
    func checkRoomForDevice(of owner: String?, field: String? = nil) throws(WireError) {
        let maximum = shared.limits.devices
        guard devices.count < maximum else {
            throw WireError(.limit, "the dataset has \(maximum) devices, the maximum", field: field)
        }
        try checkShare(of: maximum, "devices", for: owner, devices.held, field: field)
    }

    /// - Parameter item: The `location` level of the topic, where it has one: its device's owner holds it.
    func checkRoomForLiveTopic(of item: String? = nil) throws(WireError) {
        let limits = shared.limits
        guard liveTopicCount < limits.liveTopics else {
            throw WireError(.limit, "the dataset has \(limits.liveTopics) live topics, the maximum")
        }
        guard liveBytes < limits.liveBytes else { throw liveBytesExceeded }
        let owner = item.flatMap { devices[$0] }?.record.owner
        try checkShare(of: limits.liveTopics, "live topics", for: owner, liveTopicsHeld)
    }

    /// Checks that a message of so many bytes has room in the place of a former one.
    func checkRoom(forLiveBytes bytes: Int, insteadOf former: Int) throws(WireError) {
        guard bytes > former, liveBytes + bytes - former > shared.limits.liveBytes else { return }
        throw liveBytesExceeded
    }

    /// - Parameter owner: Whose document it will be, of a type that is none of ours.
    func checkRoomForDocument(of owner: String) throws(WireError) {
        let maximum = shared.limits.documents
        guard feed.documentCount < maximum else {
            throw WireError(.limit, "the dataset has \(maximum) documents, the maximum")
        }
        try checkShare(of: maximum, "documents", for: owner, feed.documentsHeld)
    }

    /// Checks that a client may have another place; `count` is how many it has.
    func checkShare(ofPlaces count: Int, for client: RequestingClient) throws(WireError) {
        let share = share(of: shared.limits.places, for: client.name)
        guard count < share else { throw Self.shareExceeded(share, "places", client.name) }
    }

    func checkShare(ofCategories added: Int, for client: RequestingClient) throws(WireError) {
        let share = share(of: shared.limits.categories, for: client.name)
        let categories = places.table.categories
        // Nobody has more than there are.
        guard added > 0, categories.count + added > share else { return }
        let held = categories.list().count { $0.owner == client.name }
        guard held + added <= share else { throw Self.shareExceeded(share, "categories", client.name) }
    }

    private func checkShare(
        of maximum: Int, _ what: String, for owner: String?, _ holdings: Holdings, field: String? = nil
    ) throws(WireError) {
        guard let owner, holdings[owner] >= shared.limits.share(of: maximum) else { return }
        let share = share(of: maximum, for: owner)
        guard holdings[owner] < share else { throw Self.shareExceeded(share, what, owner, field: field) }
    }

    private static func shareExceeded(_ share: Int, _ what: String, _ client: String, field: String? = nil) -> WireError {
        WireError(.limit, "`\(client)` has \(share) \(what) of the dataset, its share: see `limits.client-share`", field: field)
    }

    private var liveBytesExceeded: WireError {
        WireError(.limit, "the live state of the dataset has \(shared.limits.liveBytes) bytes, the maximum")
    }
}
