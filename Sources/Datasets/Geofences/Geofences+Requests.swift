import Geofencing
import Records
import Wire

// geofence/create · get · update · delete · list · explain · inside, device/geofences

extension Geofences {
    func create(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let parameters = call.parameters
        let given = try parameters.optionalID("id")
        let owner = call.owner ?? call.client.name
        guard let value = parameters.value("area") else { throw parameters.missing("area") }
        let area = try GeofenceArea(value)
        var record = GeofenceRecord(
            dataset: dataset, owner: owner, id: given ?? "", area: String(decoding: value.serialised(), as: UTF8.self),
            createdAt: call.createdAt, updatedAt: call.updatedAt)
        try applyOptions(call, to: &record)
        if let given, self[owner, given] != nil {
            throw WireError(.conflict, "the geofence `\(given)` exists", field: "id")
        }
        guard count(of: owner) < shared.limits.geofences else {
            throw WireError(.limit, "the client has \(shared.limits.geofences) geofences, the maximum")
        }
        try check(area, of: owner, call)
        if given == nil { record.id = turn.newID() }
        let pushers = try shared.configuration.readPushers(record.pushers, of: record.recipient, areNew: true)
        record.revision = call.revision(after: nil, content: record.encoded())
        activate(at: call.now)
        // First what is created, then the visits that begin with it.
        turn.keep(.put(record))
        let geofence = make(record, area, pushers: pushers)
        shared.live.reportMoves(&turn)
        let (fence, around) = fence(of: geofence)
        engine.insert(geofence.number, fence, around: around, at: call.now, into: &effects)
        handleEffects(&turn)
        return describe(geofence, warnings: devices.warnings(about: record.devices, of: owner))
    }

    func get(_ call: Call) throws(WireError) -> [UInt8] { describe(try geofence(call)) }

    func update(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let parameters = call.parameters
        let geofence = try geofence(call)
        var record = geofence.record
        try parameters.checkRevision(record.revision)
        var area = geofence.area
        if parameters.has("area") {
            guard let value = parameters.value("area") else { throw parameters.missing("area") }
            area = try GeofenceArea(value)
            try check(area, of: record.owner, call)
            record.area = String(decoding: value.serialised(), as: UTF8.self)
        }
        try applyOptions(call, to: &record)
        let pushers = try shared.configuration.readPushers(
            record.pushers, of: record.recipient, areNew: parameters.has("pushers"))
        record.updatedAt = call.updatedAt
        record.revision = call.revision(after: record.revision, content: record.encoded())
        turn.keep(.put(record))
        change(geofence, to: record, area, pushers: pushers)
        shared.live.reportMoves(&turn)
        let (fence, around) = fence(of: geofence)
        resize(geofence) { engine.update(geofence.number, fence, around: around, at: call.now, into: &effects) }
        handleEffects(&turn)
        let names = parameters.has("devices") ? record.devices : []
        return describe(geofence, warnings: devices.warnings(about: names, of: record.owner))
    }

    func delete(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let geofence = try geofence(call)
        try call.parameters.checkRevision(geofence.record.revision)
        remove(geofence, &turn)
        return deleted(geofence.record.id)
    }

    /// Ends the visits of a geofence, and deletes it.
    func remove(_ geofence: Geofence, _ turn: inout Turn) {
        engine.remove(geofence.number, into: &effects)
        handleEffects(atMost: Self.endsPerTurn, &turn)
        forget(geofence)
        turn.keep(.deleteGeofence(dataset: dataset, path: geofence.record.path))
    }

    func list(_ call: Call) throws(WireError) -> [UInt8] {
        var page = Page(limit: try call.parameters.listLimit())
        page.after = try call.parameters.optionalString("after", bytes: 1...256)
        let visible = all.filter { call.client.reaches(owner: $0.record.owner) }
        return page.encode("geofences", sorting: visible, id: \.record.path, item: { self.describe($0) })
    }

    /// The devices inside of a geofence, in the order of their ids.
    func listInside(_ call: Call) throws(WireError) -> any Search {
        let geofence = try geofence(call)
        let page = try Page(call.parameters)
        let search = {
            PageSearch(
                page, of: self.engine.unorderedMembers(of: geofence.number), key: { self.devices[$0]?.record.id },
                encode: { found, isCut in
                    page.encode("devices", found, id: \.key.text, isCut: isCut) { entry in
                        // It may have left, or the geofence gone, since it was looked at.
                        guard self[geofence.number] === geofence, self.devices[entry.element]?.record.id == entry.key.text,
                            let visit = self.engine.visit(of: entry.element, in: geofence.number)
                        else { return nil }
                        return JSONWriter.object { writer in
                            writer.member("deviceId", entry.key.text)
                            writer.member("since", visit.since)
                        }
                    }
                })
        }
        return enrolment == nil ? search() : EnrolledSearch(of: self, search)
    }

    /// The geofences of the client that a device is inside of.
    func listOfDevice(_ call: Call) throws(WireError) -> [UInt8] {
        let device = try call.device()
        let page = try Page(call.parameters)
        let number = device.reference.index
        enrol(device)
        let own = geofences(of: number).filter { $0.record.owner.hasSameBytes(as: call.client.name) }
        return page.encode("geofences", sorting: own, id: \.record.id) { geofence in
            guard let visit = engine.visit(of: number, in: geofence.number) else { return nil }
            return JSONWriter.object { writer in
                writer.member("id", geofence.record.id)
                writer.member("name", optional: geofence.record.name)
                writer.member("since", visit.since)
            }
        }
    }

    // MARK: Parts

    /// The client's own geofence of an id; administrators name another client's by `client/id`.
    func geofence(_ call: Call) throws(WireError) -> Geofence {
        let id = try call.parameters.string("id", bytes: 1...256)
        if let own = self[call.client.name, id] { return own }
        if call.client.isAdministrator, let other = self[path: id] { return other }
        let others = call.client.isAdministrator ? "; another client's is `CLIENT/\(id)`" : ""
        throw call.absent("geofence", id, " of `\(call.client.name)`\(others)", of: ids(of: call.client.name)) { _ in nil }
    }

    private func applyOptions(_ call: Call, to record: inout GeofenceRecord) throws(WireError) {
        let parameters = call.parameters
        if parameters.has("name") { record.name = try parameters.name("name") }
        if parameters.has("devices") {
            record.devices = try parameters.optionalStrings("devices", count: 0...1000) ?? []
            for name in record.devices where !(1...Self.deviceNameBytesMax).contains(name.utf8.count) {
                throw parameters.error("devices", "has entries of 1 to \(Self.deviceNameBytesMax) bytes", not: .string(name))
            }
            try call.checkFollowed(record.devices, by: record.owner)
        }
        if parameters.has("exitMargin") {
            record.rule.exitMargin = try parameters.optionalNumber("exitMargin", in: 0...100_000, unit: "metres") ?? 10
        }
        if parameters.has("dwell") { record.rule.dwell = try parameters.milliseconds("dwell") ?? 0 }
        if parameters.has("staleAfter") {
            record.rule.staleAfter = try parameters.milliseconds("staleAfter")
            guard record.rule.staleAfter != 0 else {
                throw parameters.error("staleAfter", "must be above 0 seconds", not: parameters.value("staleAfter"))
            }
        }
        if parameters.has("accuracy") { record.rule.accuracy = try parameters.optionalChoice("accuracy") ?? .likely }
        if parameters.has("floor") { record.rule.floor = try parameters.optionalChoice("floor") ?? .any }
        if parameters.has("pushers") { record.pushers = try parameters.pushers("pushers") }
        if parameters.has("secret") { record.secret = try parameters.optionalString("secret", bytes: 1...1024) }
        if parameters.has("notification") { record.notification = try parameters.notification("notification") }
        if parameters.has("enabled") { record.isEnabled = try parameters.optionalBool("enabled") ?? true }
    }

    private static let deviceNameBytesMax = 129

    /// What an area refers to must be there, and be for the client and for the owner of the geofence.
    private func check(_ area: GeofenceArea, of owner: String, _ call: Call) throws(WireError) {
        switch area {
        case .place(let id) where places.table.handle(of: id) == nil: throw places.absent(id, field: "area.place", call)
        case .around(let id, _):
            guard devices.reaches(try call.device(id, field: "area.around"), by: owner) else {
                throw WireError(
                    .forbidden, "the device `\(id)` belongs to another client than the geofence: it would not move with it",
                    field: "area.around")
            }
        default: if let problem = resolve(area, of: owner).problem { throw problem }
        }
    }

    private func describe(_ geofence: Geofence, warnings: [String] = []) -> [UInt8] {
        JSONWriter.object { writer in
            geofence.record.encodeMembers(into: &writer)
            writer.member("problem", optional: geofence.problem)
            writer.key("delivery")
            geofence.record.delivery.encode(into: &writer)
            if !warnings.isEmpty { writer.member("warnings", warnings) }
        }
    }
}

/// A search among the devices of geofences, once their engine knows all of them.
private final class EnrolledSearch: Search {
    private let geofences: Geofences
    private let begin: () -> any Search
    private var search: (any Search)?

    init(of geofences: Geofences, _ begin: @escaping () -> any Search) {
        self.geofences = geofences
        self.begin = begin
    }

    func goOn(_ effort: inout Int) -> [UInt8]? {
        guard geofences.enrolMore(&effort) else { return nil }
        let search = search ?? begin()
        self.search = search
        return search.goOn(&effort)
    }
}

extension Parameters {
    /// Seconds, as milliseconds.
    fileprivate func milliseconds(_ key: String) throws(WireError) -> Int64? {
        try optionalNumber(key, in: 0...Self.secondsMax, unit: "seconds").map { Int64(($0 * 1000).rounded()) }
    }

    /// A hundred years.
    private static let secondsMax = 3_155_760_000.0
}
