import Wire

/// One request that clients may make: all that is known of it is in its row.
public struct RequestRow: Sendable {
    /// `resource/verb`.
    public let name: String
    let handler: Handler
    /// Only administrators may ask it.
    public var isForAdministrators = false
    /// A first one creates its dataset where auto-creation is on.
    public var createsDataset = false
    /// It takes a list of what it takes alone, as `items`.
    public var takesItems = false

    /// What it may hold.
    public var description: RequestDescription? { RequestCatalogue.byName[name] }

    /// It changes something that must be durable before its reply.
    public var changes: Bool {
        switch handler {
        case .read, .readAll, .ask: false
        case .create, .change, .push, .testPush: true
        }
    }

    /// How much of what is allowed to wait for answers it takes up: a push also keeps others of its dataset waiting.
    var load: UInt8 {
        switch handler {
        case .read, .readAll, .create, .change: 1
        case .ask, .testPush: 2
        case .push: 5
        }
    }

    /// Who carries it out, and how.
    enum Handler: Sendable {
        /// Reads what is in memory.
        case read(@Sendable (Hub) -> (Call) throws(WireError) -> [UInt8])
        /// Reads what is in memory, whether or not the dataset it names exists.
        case readAll(@Sendable (Hub) -> (Parameters, RequestingClient) throws(WireError) -> [UInt8])
        /// Asks the store.
        case ask(@Sendable (Hub) -> (Call) throws(WireError) -> Outcome)
        case change(@Sendable (Hub) -> (Call, inout Turn) throws(WireError) -> [UInt8])
        /// Creates the dataset.
        case create
        /// Asks the store what is known of documents, and changes them then.
        case push
        /// Has push services asked: their answers make the reply.
        case testPush
    }

    init(
        _ name: String, _ handler: Handler, isForAdministrators: Bool = false, createsDataset: Bool = false,
        takesItems: Bool = false
    ) {
        self.name = name
        self.handler = handler
        self.isForAdministrators = isForAdministrators
        self.createsDataset = createsDataset
        self.takesItems = takesItems
    }
}

/// Every request this daemon answers.
public enum RequestTable {
    public static let rows: [RequestRow] = [
        RequestRow("dataset/create", .create, isForAdministrators: true, createsDataset: true),
        RequestRow("dataset/get", .read(Hub.getDataset)),
        RequestRow("dataset/update", .change(Hub.updateDataset), isForAdministrators: true),
        RequestRow("dataset/list", .readAll(Hub.listDatasets), isForAdministrators: true),
        RequestRow("dataset/delete", .change(Hub.deleteDataset), isForAdministrators: true),
        RequestRow("dataset/watch", .read(Hub.watchDataset)),
        RequestRow("dataset/import", .change(Hub.importStructure), isForAdministrators: true, createsDataset: true),
        RequestRow("key/create", .change(Hub.createAccessKey), isForAdministrators: true, createsDataset: true),
        RequestRow("key/list", .read(Hub.listAccessKeys), isForAdministrators: true),
        RequestRow("key/delete", .change(Hub.deleteAccessKey), isForAdministrators: true),
        RequestRow("structure/list", .read(Hub.listStructure)),
        RequestRow("structure/get", .read(Hub.getStructure)),
        RequestRow("structure/delete", .change(Hub.deleteStructure), isForAdministrators: true),
        RequestRow("device/create", .change(Hub.createDevice), createsDataset: true, takesItems: true),
        RequestRow("device/get", .read(Hub.getDevice)),
        RequestRow("device/list", .read(Hub.listDevices)),
        RequestRow("device/update", .change(Hub.updateDevice)),
        RequestRow("device/delete", .change(Hub.deleteDevice)),
        RequestRow("device/forget", .change(Hub.forgetDevice)),
        RequestRow("device/geofences", .read(Hub.listGeofencesOfDevice)),
        RequestRow("geofence/create", .change(Hub.createGeofence), createsDataset: true),
        RequestRow("geofence/get", .read(Hub.getGeofence)),
        RequestRow("geofence/list", .read(Hub.listGeofences)),
        RequestRow("geofence/update", .change(Hub.updateGeofence)),
        RequestRow("geofence/delete", .change(Hub.deleteGeofence)),
        RequestRow("geofence/inside", .read(Hub.listInside)),
        RequestRow("geofence/explain", .read(Hub.explainGeofence)),
        RequestRow("publication/create", .change(Hub.createPublication), createsDataset: true, takesItems: true),
        RequestRow("publication/get", .read(Hub.getPublication)),
        RequestRow("publication/list", .read(Hub.listPublications)),
        RequestRow("publication/update", .change(Hub.updatePublication)),
        RequestRow("publication/delete", .change(Hub.deletePublication)),
        RequestRow("subscription/create", .change(Hub.createSubscription), createsDataset: true, takesItems: true),
        RequestRow("subscription/get", .read(Hub.getSubscription)),
        RequestRow("subscription/list", .read(Hub.listSubscriptions)),
        RequestRow("subscription/update", .change(Hub.updateSubscription)),
        RequestRow("subscription/delete", .change(Hub.deleteSubscription)),
        RequestRow("match/get", .ask(Hub.getMatch)),
        RequestRow("match/list", .ask(Hub.listMatches)),
        RequestRow("match/explain", .read(Hub.explainMatch)),
        RequestRow("match/watch", .read(Hub.watchAll), isForAdministrators: true),
        RequestRow("live/subscribe", .change(Hub.subscribeLive)),
        RequestRow("live/renew", .change(Hub.renewLive)),
        RequestRow("live/unsubscribe", .change(Hub.unsubscribeLive)),
        RequestRow("live/list", .read(Hub.listLive)),
        RequestRow("live/snapshot", .read(Hub.snapshotLive)),
        RequestRow("beacon/list", .read(Hub.listBeacons)),
        RequestRow("beacon/monitor", .change(Hub.monitorBeacons)),
        RequestRow("beacon/unmonitor", .change(Hub.unmonitorBeacons)),
        RequestRow("category/import", .change(Hub.importCategories), createsDataset: true),
        RequestRow("category/list", .read(Hub.listCategories)),
        RequestRow("place/import", .change(Hub.importPlaces), createsDataset: true),
        RequestRow("place/get", .read(Hub.getPlace)),
        RequestRow("place/list", .read(Hub.listPlaces)),
        RequestRow("place/delete", .change(Hub.deletePlace)),
        RequestRow("place/candidates", .read(Hub.placeCandidates)),
        RequestRow("place/verify", .change(Hub.verifyPlace)),
        RequestRow("circumstance/register", .change(Hub.registerCircumstance), createsDataset: true),
        RequestRow("circumstance/enable", .change(Hub.enableCircumstance)),
        RequestRow("circumstance/disable", .change(Hub.disableCircumstance)),
        RequestRow("circumstance/unregister", .change(Hub.unregisterCircumstance)),
        RequestRow("circumstance/list", .read(Hub.listCircumstances)),
        RequestRow("circumstance/evaluate", .read(Hub.evaluateCircumstance)),
        RequestRow("circumstance/evaluateAll", .read(Hub.evaluateAllCircumstances)),
        RequestRow("circumstance/watch", .read(Hub.watchAll), isForAdministrators: true),
        RequestRow("changes/get", .ask(Hub.getChanges)),
        RequestRow("changes/follow", .ask(Hub.followChanges)),
        RequestRow("changes/unfollow", .ask(Hub.unfollowChanges)),
        RequestRow("changes/conflicts", .ask(Hub.listConflicts)),
        RequestRow("changes/push", .push),
        RequestRow("changes/documents", .ask(Hub.getDocuments)),
        RequestRow("checkpoint/get", .read(Hub.getCheckpoint)),
        RequestRow("checkpoint/put", .change(Hub.putCheckpoint)),
        RequestRow("push/key", .readAll(Hub.getPushKey)),
        RequestRow("push/test", .testPush),
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
