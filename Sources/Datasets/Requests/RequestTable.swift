import Wire

/// One request that clients may make: all that is known of it is in its row.
public struct RequestRow: Sendable {
    /// `resource/verb`.
    public let name: String
    let handler: Handler
    /// Only administrators may ask it.
    public let isForAdministrators: Bool
    /// A first one creates its dataset where auto-creation is on.
    public let createsDataset: Bool
    /// It takes a list of what it takes alone, as `items`.
    public let takesItems: Bool
    /// Its reply has a `key`, which is stored nowhere: after a restart it is repeated without.
    let showsSecret: Bool
    /// Its reply is remembered beyond its dataset.
    let endsDataset: Bool
    /// Its reply is about the socket it was asked on, which then hears more: it is remembered for no other, and of no other request.
    public let isForSocket: Bool

    /// What the store answers leads to a change.
    let changesWhenAnswered: Bool

    /// What it may hold.
    public var description: RequestDescription? { RequestCatalogue.byName[name] }

    /// It changes something that must be durable before its reply.
    public var changes: Bool {
        switch handler {
        case .read, .readAll, .search: false
        case .ask: changesWhenAnswered
        case .create, .change, .changeAndSearch, .push, .testPush: true
        }
    }

    /// It is about no dataset alone.
    var isOfAllDatasets: Bool { if case .readAll = handler { true } else { false } }

    /// How much of what is allowed to wait for answers it takes up: a push also keeps others of its dataset waiting.
    var load: UInt8 {
        switch handler {
        case .read, .readAll, .search, .create, .change, .changeAndSearch: 1
        case .ask, .testPush: 2
        case .push: Self.pushLoad
        }
    }

    /// Of a push, and of nothing else.
    public static let pushLoad: UInt8 = 5

    /// Who carries it out, and how.
    enum Handler: Sendable {
        /// Reads what is in memory.
        case read(@Sendable (Hub, Call) throws(WireError) -> [UInt8])
        /// Reads what is in memory, whether or not the dataset it names exists.
        case readAll(@Sendable (Hub, Parameters, RequestingClient) throws(WireError) -> [UInt8])
        /// Looks through what is in memory, where that may take long.
        case search(@Sendable (Hub, Call) throws(WireError) -> any Search)
        /// Asks the store.
        case ask(@Sendable (Dataset, Call) throws(WireError) -> Outcome)
        case change(@Sendable (Hub, Call, inout Turn) throws(WireError) -> [UInt8])
        /// Changes something that begins when its search ends.
        case changeAndSearch(
            @Sendable (Hub, Call, inout Turn) throws(WireError) -> (Call) throws(WireError) -> any Search)
        /// Creates the dataset.
        case create
        /// Asks the store what is known of documents, and changes them then.
        case push
        /// Has push services asked: their answers make the reply.
        case testPush
    }

    init(
        _ name: String, _ handler: Handler, isForAdministrators: Bool = false, createsDataset: Bool = false,
        takesItems: Bool = false, showsSecret: Bool = false, endsDataset: Bool = false, isForSocket: Bool = false,
        changesWhenAnswered: Bool = false
    ) {
        self.name = name
        self.handler = handler
        self.isForAdministrators = isForAdministrators
        self.createsDataset = createsDataset
        self.takesItems = takesItems
        self.showsSecret = showsSecret
        self.endsDataset = endsDataset
        self.isForSocket = isForSocket
        self.changesWhenAnswered = changesWhenAnswered
    }
}

// A component of the dataset, or one that all datasets share, carries it out.
extension RequestRow.Handler {
    static func read<Component>(
        _ component: any KeyPath<Dataset, Component> & Sendable,
        _ handler: @escaping @Sendable (Component) -> (Call) throws(WireError) -> [UInt8]
    ) -> Self {
        .read { _, call throws(WireError) in try handler(call.dataset[keyPath: component])(call) }
    }

    static func read<Component>(
        shared component: any KeyPath<Hub, Component> & Sendable,
        _ handler: @escaping @Sendable (Component) -> (Call) throws(WireError) -> [UInt8]
    ) -> Self {
        .read { hub, call throws(WireError) in try handler(hub[keyPath: component])(call) }
    }

    static func search<Component>(
        _ component: any KeyPath<Dataset, Component> & Sendable,
        _ handler: @escaping @Sendable (Component) -> (Call) throws(WireError) -> any Search
    ) -> Self {
        .search { _, call throws(WireError) in try handler(call.dataset[keyPath: component])(call) }
    }

    static func search<Component>(
        shared component: any KeyPath<Hub, Component> & Sendable,
        _ handler: @escaping @Sendable (Component) -> (Call) throws(WireError) -> any Search
    ) -> Self {
        .search { hub, call throws(WireError) in try handler(hub[keyPath: component])(call) }
    }

    static func ask<Component>(
        _ component: any KeyPath<Dataset, Component> & Sendable,
        _ handler: @escaping @Sendable (Component) -> (Call) throws(WireError) -> Outcome
    ) -> Self {
        .ask { dataset, call throws(WireError) in try handler(dataset[keyPath: component])(call) }
    }

    static func change<Component>(
        _ component: any KeyPath<Dataset, Component> & Sendable,
        _ handler: @escaping @Sendable (Component) -> (Call, inout Turn) throws(WireError) -> [UInt8]
    ) -> Self {
        .change { _, call, turn throws(WireError) in try handler(call.dataset[keyPath: component])(call, &turn) }
    }

    static func change<Component>(
        shared component: any KeyPath<Hub, Component> & Sendable,
        _ handler: @escaping @Sendable (Component) -> (Call, inout Turn) throws(WireError) -> [UInt8]
    ) -> Self {
        .change { hub, call, turn throws(WireError) in try handler(hub[keyPath: component])(call, &turn) }
    }
}

/// Every request this daemon answers.
public enum RequestTable {
    public static let rows: [RequestRow] = [
        RequestRow("dataset/create", .create, isForAdministrators: true, createsDataset: true),
        RequestRow("dataset/get", .read(\.self, Dataset.get)),
        RequestRow("dataset/update", .change(\.self, Dataset.update), isForAdministrators: true),
        RequestRow(
            "dataset/list", .readAll { hub, parameters, client throws(WireError) in try hub.listDatasets(parameters, client) },
            isForAdministrators: true),
        RequestRow("dataset/delete", .change(\.self, Dataset.delete), isForAdministrators: true, endsDataset: true),
        RequestRow("dataset/watch", .read(\.self, Dataset.watchDataset), isForSocket: true),
        RequestRow(
            "dataset/import", .change(\.structure, StructureBook.importAll), isForAdministrators: true, createsDataset: true),
        RequestRow(
            "key/create", .change(shared: \.self, Hub.createAccessKey), isForAdministrators: true, createsDataset: true,
            showsSecret: true),
        RequestRow("key/list", .read(shared: \.accessKeys, AccessKeys.list), isForAdministrators: true),
        RequestRow("key/delete", .change(shared: \.accessKeys, AccessKeys.delete), isForAdministrators: true),
        RequestRow("structure/list", .search(\.structure, StructureBook.list)),
        RequestRow("structure/get", .read(\.structure, StructureBook.get)),
        RequestRow("structure/delete", .change(\.structure, StructureBook.delete), isForAdministrators: true),
        RequestRow("device/create", .change(\.self, Dataset.createDevice), createsDataset: true, takesItems: true),
        RequestRow("device/get", .read(\.self, Dataset.getDevice)),
        RequestRow("device/list", .search(\.self, Dataset.listDevices)),
        RequestRow("device/update", .change(\.self, Dataset.updateDevice)),
        RequestRow("device/delete", .change(\.self, Dataset.deleteDevice)),
        RequestRow("device/forget", .change(\.self, Dataset.forgetDevice)),
        RequestRow("device/geofences", .read(\.geofences, Geofences.listOfDevice)),
        RequestRow("geofence/create", .change(\.geofences, Geofences.create), createsDataset: true),
        RequestRow("geofence/get", .read(\.geofences, Geofences.get)),
        RequestRow("geofence/list", .read(\.geofences, Geofences.list)),
        RequestRow("geofence/update", .change(\.geofences, Geofences.update)),
        RequestRow("geofence/delete", .change(\.geofences, Geofences.delete)),
        RequestRow("geofence/inside", .search(\.geofences, Geofences.listInside)),
        RequestRow("geofence/explain", .read(\.geofences, Geofences.explain)),
        RequestRow(
            "publication/create", .change(\.geomatching, Geomatching.createPublication), createsDataset: true, takesItems: true),
        RequestRow("publication/get", .read(\.geomatching, Geomatching.getPublication)),
        RequestRow("publication/list", .read(\.geomatching, Geomatching.listPublications)),
        RequestRow("publication/update", .change(\.geomatching, Geomatching.updatePublication)),
        RequestRow("publication/delete", .change(\.geomatching, Geomatching.deletePublication)),
        RequestRow(
            "subscription/create", .change(\.geomatching, Geomatching.createSubscription), createsDataset: true, takesItems: true),
        RequestRow("subscription/get", .read(\.geomatching, Geomatching.getSubscription)),
        RequestRow("subscription/list", .read(\.geomatching, Geomatching.listSubscriptions)),
        RequestRow("subscription/update", .change(\.geomatching, Geomatching.updateSubscription)),
        RequestRow("subscription/delete", .change(\.geomatching, Geomatching.deleteSubscription)),
        RequestRow("match/get", .ask(\.geomatching, Geomatching.getMatch)),
        RequestRow("match/list", .ask(\.geomatching, Geomatching.listMatches)),
        RequestRow("match/explain", .read(\.geomatching, Geomatching.explain)),
        RequestRow("match/watch", .read(\.self, Dataset.watchAll), isForAdministrators: true, isForSocket: true),
        RequestRow(
            "live/subscribe",
            .changeAndSearch { hub, call, turn throws(WireError) in try hub.liveSubscribers.subscribe(call, &turn) }),
        RequestRow("live/renew", .change(shared: \.liveSubscribers, LiveSubscribers.renew)),
        RequestRow("live/unsubscribe", .change(shared: \.liveSubscribers, LiveSubscribers.unsubscribe)),
        RequestRow("live/list", .read(shared: \.liveSubscribers, LiveSubscribers.list)),
        RequestRow("live/snapshot", .search(shared: \.liveSubscribers, LiveSubscribers.snapshot)),
        RequestRow("beacon/list", .search(\.beacons, Beacons.list)),
        RequestRow("beacon/monitor", .change(\.beacons, Beacons.monitor)),
        RequestRow("beacon/unmonitor", .change(\.beacons, Beacons.unmonitor)),
        RequestRow("category/import", .change(\.places, PlaceBook.importCategories), createsDataset: true),
        RequestRow("category/list", .read(\.places, PlaceBook.listCategories)),
        RequestRow("place/import", .change(\.places, PlaceBook.importPlaces), createsDataset: true),
        RequestRow("place/get", .read(\.places, PlaceBook.get)),
        RequestRow("place/list", .read(\.places, PlaceBook.list)),
        RequestRow("place/delete", .change(\.places, PlaceBook.delete)),
        RequestRow("place/candidates", .read(\.places, PlaceBook.candidates)),
        RequestRow("place/verify", .change(\.places, PlaceBook.verify)),
        RequestRow("circumstance/register", .change(\.circumstances, CircumstanceBook.register), createsDataset: true),
        RequestRow("circumstance/enable", .change(\.circumstances, CircumstanceBook.enable)),
        RequestRow("circumstance/disable", .change(\.circumstances, CircumstanceBook.disable)),
        RequestRow("circumstance/unregister", .change(\.circumstances, CircumstanceBook.unregister)),
        RequestRow("circumstance/list", .read(\.circumstances, CircumstanceBook.list)),
        RequestRow("circumstance/evaluate", .read(\.circumstances, CircumstanceBook.evaluate)),
        RequestRow("circumstance/evaluateAll", .read(\.circumstances, CircumstanceBook.evaluateAll)),
        RequestRow("circumstance/watch", .read(\.self, Dataset.watchAll), isForAdministrators: true, isForSocket: true),
        RequestRow("changes/get", .ask(\.feed, ChangeFeed.get)),
        RequestRow("changes/follow", .ask(\.feed, ChangeFeed.follow), changesWhenAnswered: true),
        RequestRow("changes/unfollow", .ask(\.feed, ChangeFeed.unfollow), changesWhenAnswered: true),
        RequestRow("changes/conflicts", .ask(\.feed, ChangeFeed.conflicts)),
        RequestRow("changes/push", .push),
        RequestRow("changes/documents", .ask(\.feed, ChangeFeed.documents)),
        RequestRow("checkpoint/get", .read(\.feed, ChangeFeed.getCheckpoint)),
        RequestRow("checkpoint/put", .change(\.feed, ChangeFeed.putCheckpoint)),
        RequestRow("push/key", .read { hub, _ throws(WireError) in try hub.configuration.getPushKey() }),
        RequestRow("push/test", .testPush),
        RequestRow(
            "cluster/status", .readAll { hub, parameters, client throws(WireError) in try hub.showCluster(parameters, client) },
            isForAdministrators: true),
    ]

    /// See ``RequestRow/load``; an unknown request is refused at once.
    public static func load(of name: String) -> UInt8 { byName[name]?.load ?? 1 }

    /// The row of a request; nil where there is none of this name.
    public static func row(of name: String) -> RequestRow? { byName[name] }

    /// Why a request cannot be carried out that no row has.
    public static func unknown(_ name: String) -> WireError {
        let meant = RequestCatalogue.nearest(to: name).map { "; did you mean `\($0)`?" } ?? ""
        return WireError(.notFound, "there is no request `\(name.prefix(80))`\(meant)", field: "request")
    }

    /// By name.
    static let byName = Dictionary(uniqueKeysWithValues: rows.map { ($0.name, $0) })
}
