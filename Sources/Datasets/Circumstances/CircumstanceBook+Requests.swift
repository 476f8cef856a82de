import Circumstances
import Wire
import Records

// circumstance/register · enable · disable · unregister · list · evaluate · evaluateAll

extension CircumstanceBook {
    func register(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let parameters = call.parameters
        let id = try parameters.id("id")
        let known = self[id]
        if let known { try call.checkOwner(known.record.owner, of: "circumstance", id) }
        if let known { try parameters.checkRevision(known.record.revision) }
        let owner = known?.record.owner ?? call.owner ?? call.client.name
        let text = try parameters.string("expression")
        let expression = try CircumstanceExpression(checking: text)
        var record = CircumstanceRecord(
            dataset: dataset, id: id, owner: owner, expression: text,
            trigger: try parameters.optionalChoice("when"),
            name: try parameters.name("name"), tags: try parameters.tags("tags"), devices: try parameters.deviceNames("devices"),
            createdAt: known?.record.createdAt ?? call.createdAt,
            updatedAt: call.updatedAt)
        try call.checkFollowed(record.devices, by: owner)
        record.nearRadius =
            try parameters.optionalNumber("nearRadius", in: CircumstanceRule.nearRadiusRange, unit: "metres") ?? record.nearRadius
        record.exitMargin =
            try parameters.optionalNumber("exitMargin", in: CircumstanceRule.exitMarginRange, unit: "metres") ?? record.exitMargin
        record.pushers = try parameters.pushers("pushers")
        record.notification = try parameters.notification("notification")
        record.debug = try parameters.optionalBool("debug") ?? false
        guard known != nil || count(of: owner) < shared.limits.circumstances else {
            throw WireError(.limit, "the client has \(shared.limits.circumstances) circumstances, the maximum")
        }
        record.isEnabled = call.stamp == nil ? true : try parameters.optionalBool("enabled") ?? true
        record.revision = call.revision(after: known?.record.revision, content: record.encoded())
        let pushers = try shared.configuration.readPushers(record.pushers, of: record.recipient, areNew: true)
        if call.endsBeforeEffects { return record.encoded() }
        let circumstance = register(record, expression, pushers, &turn)
        return describe(
            circumstance, warnings: warnings(of: expression) + devices.warnings(about: record.devices, of: owner))
    }

    func enable(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let circumstance = try circumstance(call)
        try call.parameters.checkRevision(circumstance.record.revision)
        guard !circumstance.record.isEnabled else { return describe(circumstance) }
        enable(circumstance, &turn)
        return describe(circumstance)
    }

    func disable(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let circumstance = try circumstance(call)
        try call.parameters.checkRevision(circumstance.record.revision)
        guard circumstance.record.isEnabled else { return describe(circumstance) }
        disable(circumstance, &turn)
        return describe(circumstance)
    }

    func unregister(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let circumstance = try circumstance(call)
        try call.parameters.checkRevision(circumstance.record.revision)
        unregister(circumstance)
        turn.keep(.deleteCircumstance(dataset: dataset, id: circumstance.record.id))
        return deleted(circumstance.record.id)
    }

    func list(_ call: Call) throws(WireError) -> [UInt8] {
        try Page(call.parameters).encode(
            "circumstances", sorting: visibleCircumstances(call), id: \.record.id, item: { self.describe($0) })
    }

    func evaluate(_ call: Call) throws(WireError) -> [UInt8] {
        let circumstance = try circumstance(call)
        let device = try call.device()
        enrol(device)
        let debug = try call.parameters.optionalBool("debug") ?? false
        var writer = JSONWriter()
        writer.beginObject()
        encodeValue(of: circumstance, for: device, debug: debug, call, into: &writer)
        writer.endObject()
        guard !debug || writer.bytes.count <= Request.payloadBytesMax else {
            throw WireError(
                .limit, "the trace would have \(writer.bytes.count) bytes, more than \(Request.payloadBytesMax)", field: "debug")
        }
        return writer.bytes
    }

    func evaluateAll(_ call: Call) throws(WireError) -> [UInt8] {
        let device = try call.device()
        enrol(device)
        let page = try Page(call.parameters)
        let onDemand = visibleCircumstances(call).filter { $0.record.trigger == nil && $0.record.isEnabled }
        return page.encode("results", sorting: onDemand, id: \.record.id) { circumstance in
            JSONWriter.object { writer in
                writer.member("id", circumstance.record.id)
                self.encodeValue(of: circumstance, for: device, debug: false, call, into: &writer)
            }
        }
    }

    // MARK: Parts

    private func circumstance(_ call: Call) throws(WireError) -> Circumstance {
        let id = try call.parameters.id("id")
        guard let circumstance = self[id] else {
            throw call.absent("circumstance", id, of: ids) { self[$0]?.record.owner }
        }
        try call.checkOwner(circumstance.record.owner, of: "circumstance", id)
        return circumstance
    }

    private func visibleCircumstances(_ call: Call) -> [Circumstance] {
        all.filter { call.client.reaches(owner: $0.record.owner) }
    }

    /// `"value"`, `"atPlaces"`, `"nearPlaces"` and, where asked for, `"trace"`.
    private func encodeValue(
        of circumstance: Circumstance, for device: Device, debug: Bool, _ call: Call, into writer: inout JSONWriter
    ) {
        let world = world
        let answer = engine.evaluate(circumstance.reference, for: device.reference.index, at: call.now, in: world)
        writer.key("value")
        writer.truth(answer.value)
        encode(answer.atPlaces, "atPlaces", into: &writer)
        encode(answer.nearPlaces, "nearPlaces", into: &writer)
        guard debug else { return }
        encode(engine.trace(circumstance.reference, for: device.reference.index, at: call.now, in: world), into: &writer)
    }

    private func describe(_ circumstance: Circumstance, warnings: [String] = []) -> [UInt8] {
        JSONWriter.object { writer in
            circumstance.record.encodeMembers(into: &writer)
            if !warnings.isEmpty { writer.member("warnings", warnings) }
        }
    }

    private static let warningsMax = 20

    /// What an expression names and nobody knows yet: it matches as soon as it exists.
    private func warnings(of expression: CircumstanceExpression) -> [String] {
        let world = world
        var warnings: [String] = []
        expression.condition.forEachIdentity { key, id in
            guard !world.isKnown(key, id), warnings.count < Self.warningsMax else { return }
            var warning = "the \(key.rawValue) `\(id)` is not known yet"
            if key == .category || key == .exactCategory, let near = nearestCategory(to: id) {
                warning += "; did you mean `\(near)`?"
            }
            if !warnings.contains(warning) { warnings.append(warning) }
        }
        return warnings
    }

    /// Among the first thousand categories: `amenity=cafe` for `cafe`, else one spelled nearly so.
    private func nearestCategory(to id: String) -> String? {
        let categories = places.table.categories
        let ids = (0..<1000).compactMap { categories.id($0) }
        return ids.first { $0.hasSuffix("=\(id)") } ?? Nearness.nearest(to: id, of: ids)
    }
}

extension Condition {
    /// Calls `body` with each id that is compared.
    fileprivate func forEachIdentity(_ body: (IdentityKey, String) -> Void) {
        switch self {
        case .and(let parts), .or(let parts): for part in parts { part.forEachIdentity(body) }
        case .not(let part): part.forEachIdentity(body)
        case .at(let rules), .near(let rules), .visited(let rules), .frequents(let rules, _, _):
            for rule in rules { rule.forEachIdentity(body) }
        case .always, .time, .dwelling, .moving, .live: break
        }
    }
}

extension PlaceRule {
    fileprivate func forEachIdentity(_ body: (IdentityKey, String) -> Void) {
        switch self {
        case .and(let rules), .or(let rules): for rule in rules { rule.forEachIdentity(body) }
        case .not(let rule): rule.forEachIdentity(body)
        case .identity(let key, let ids): for id in ids { body(key, id) }
        default: break
        }
    }
}

extension Parameters {
    /// At most 64 texts of up to 256 characters.
    fileprivate func tags(_ key: String) throws(WireError) -> [String] {
        let tags = try optionalStrings(key, count: 0...64) ?? []
        for tag in tags where tag.unicodeScalars.count > 256 {
            throw error(key, "has entries of at most 256 characters", not: .string(tag))
        }
        return tags
    }

    /// Ids or groups of devices.
    fileprivate func deviceNames(_ key: String) throws(WireError) -> [String] {
        let names = try optionalStrings(key, count: 0...1000) ?? []
        for name in names where !(1...128).contains(name.utf8.count) {
            throw error(key, "has ids or groups of devices, of 1 to 128 bytes", not: .string(name))
        }
        return names
    }
}
