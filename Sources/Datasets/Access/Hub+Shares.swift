import Wire

// Of each maximum of a dataset one client that is no administrator may hold a share only, see `limits.client-share`.

extension Hub {
    /// How much of a maximum a client may hold.
    func share(of maximum: Int, for client: String, in dataset: Dataset) -> Int {
        configuration.administrators.allow(client: client, in: dataset.id) ? maximum : configuration.limits.share(of: maximum)
    }

    /// - Parameter owner: Whose it will be; nil for nobody's.
    func checkRoomForDevice(of owner: String?, in dataset: Dataset, field: String? = nil) throws(WireError) {
        let maximum = configuration.limits.devices
        guard dataset.devices.count < maximum else {
            throw WireError(.limit, "the dataset has \(maximum) devices, the maximum", field: field)
        }
        try checkShare(of: maximum, "devices", for: owner, dataset.devices.held, in: dataset, field: field)
    }

    /// - Parameter item: The `location` level of the topic, where it has one: its device's owner holds it.
    func checkRoomForLiveTopic(of item: String? = nil, in dataset: Dataset) throws(WireError) {
        let limits = configuration.limits
        guard dataset.liveTopicCount < limits.liveTopics else {
            throw WireError(.limit, "the dataset has \(limits.liveTopics) live topics, the maximum")
        }
        guard dataset.liveBytes < limits.liveBytes else { throw liveBytesExceeded }
        let owner = item.flatMap { dataset.devices[$0] }?.record.owner
        try checkShare(of: limits.liveTopics, "live topics", for: owner, dataset.liveTopicsHeld, in: dataset)
    }

    /// Checks that a message of so many bytes has room in the place of a former one.
    func checkRoom(forLiveBytes bytes: Int, insteadOf former: Int, in dataset: Dataset) throws(WireError) {
        guard bytes > former, dataset.liveBytes + bytes - former > configuration.limits.liveBytes else { return }
        throw liveBytesExceeded
    }

    /// Checks that a client may have another place; `count` is how many it has.
    func checkShare(ofPlaces count: Int, for client: RequestingClient, in dataset: Dataset) throws(WireError) {
        let share = share(of: configuration.limits.places, for: client.name, in: dataset)
        guard count < share else { throw Self.shareExceeded(share, "places", client.name) }
    }

    func checkShare(ofCategories added: Int, for client: RequestingClient, in dataset: Dataset) throws(WireError) {
        let share = share(of: configuration.limits.categories, for: client.name, in: dataset)
        let categories = dataset.places.table.categories
        // Nobody has more than there are.
        guard added > 0, categories.count + added > share else { return }
        let held = categories.list().count { $0.owner == client.name }
        guard held + added <= share else { throw Self.shareExceeded(share, "categories", client.name) }
    }

    private func checkShare(
        of maximum: Int, _ what: String, for owner: String?, _ holdings: Holdings, in dataset: Dataset, field: String? = nil
    ) throws(WireError) {
        guard let owner, holdings[owner] >= configuration.limits.share(of: maximum) else { return }
        let share = share(of: maximum, for: owner, in: dataset)
        guard holdings[owner] < share else { throw Self.shareExceeded(share, what, owner, field: field) }
    }

    private static func shareExceeded(_ share: Int, _ what: String, _ client: String, field: String? = nil) -> WireError {
        WireError(.limit, "`\(client)` has \(share) \(what) of the dataset, its share: see `limits.client-share`", field: field)
    }

    private var liveBytesExceeded: WireError {
        WireError(.limit, "the live state of the dataset has \(configuration.limits.liveBytes) bytes, the maximum")
    }
}
