import Circumstances
import Wire
import Records

// circumstance/register · enable · disable · unregister · list · evaluate · evaluateAll

extension Hub {
    func registerCircumstance(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let dataset = call.dataset
        let parameters = call.parameters
        let id = try parameters.id("id")
        let known = dataset.circumstances.circumstances[id]
        if let known { try call.checkOwner(known.record.owner, of: "circumstance", id) }
        if let known { try parameters.checkRevision(known.record.revision) }
        let owner = known?.record.owner ?? call.owner ?? call.client.name
        let text = try parameters.string("expression")
        let expression = try CircumstanceExpression(checking: text)
        var record = CircumstanceRecord(
            dataset: dataset.id, id: id, owner: owner, expression: text,
            trigger: try parameters.optionalChoice("when"),
            name: try parameters.name("name"), tags: try parameters.tags("tags"), devices: try parameters.deviceNames("devices"),
            createdAt: known?.record.createdAt ?? call.createdAt,
            updatedAt: call.updatedAt)
        record.nearRadius =
            try parameters.optionalNumber("nearRadius", in: CircumstanceRule.nearRadiusRange, unit: "metres") ?? record.nearRadius
        record.exitMargin =
            try parameters.optionalNumber("exitMargin", in: CircumstanceRule.exitMarginRange, unit: "metres") ?? record.exitMargin
        record.debug = try parameters.optionalBool("debug") ?? false
        guard known != nil || dataset.circumstances.count(of: owner) < configuration.limits.circumstances else {
            throw WireError(.limit, "the client has \(configuration.limits.circumstances) circumstances, the maximum")
        }
        record.isEnabled = call.stamp == nil ? true : try parameters.optionalBool("enabled") ?? true
        record.revision = call.revision(after: known?.record.revision, content: record.encoded())
        if call.endsBeforeEffects { return record.encoded() }
        activateCircumstances(of: dataset, at: call.now)
        if let known { dataset.circumstances.remove(known) }
        // First what is registered, then what is held of it.
        turn.keep(.put(record))
        let engine = dataset.circumstances.engine
        let reference = engine.register(
            record.rule(expression), replacing: known?.reference, isEnabled: record.isEnabled, at: call.now,
            in: world(of: dataset),
            into: &circumstanceEffects)
        let circumstance = Circumstance(record, expression, reference: reference)
        dataset.circumstances.insert(circumstance)
        handleCircumstanceEffects(of: dataset, &turn)
        return describe(circumstance, warnings: warnings(of: expression, in: dataset))
    }

    func enableCircumstance(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let circumstance = try circumstance(call)
        guard !circumstance.record.isEnabled else { return describe(circumstance) }
        change(circumstance, call, &turn) { $0.isEnabled = true }
        call.dataset.circumstances.engine.enable(
            circumstance.reference, at: call.now, in: world(of: call.dataset), into: &circumstanceEffects)
        handleCircumstanceEffects(of: call.dataset, &turn)
        return describe(circumstance)
    }

    func disableCircumstance(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let circumstance = try circumstance(call)
        guard circumstance.record.isEnabled else { return describe(circumstance) }
        call.dataset.circumstances.engine.disable(circumstance.reference)
        change(circumstance, call, &turn) { $0.isEnabled = false }
        return describe(circumstance)
    }

    func unregisterCircumstance(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let circumstance = try circumstance(call)
        try call.parameters.checkRevision(circumstance.record.revision)
        call.dataset.circumstances.remove(circumstance)
        call.dataset.circumstances.engine.unregister(circumstance.reference)
        turn.keep(.deleteCircumstance(dataset: call.dataset.id, id: circumstance.record.id))
        return deleted(circumstance.record.id)
    }

    func listCircumstances(_ call: Call) throws(WireError) -> [UInt8] {
        let page = try Page(call.parameters)
        let visible = visibleCircumstances(call)
        return page.encode(
            "circumstances", page.sorted(visible, by: \.record.id), id: \.record.id, item: { self.describe($0) })
    }

    func evaluateCircumstance(_ call: Call) throws(WireError) -> [UInt8] {
        let circumstance = try circumstance(call)
        let device = try device(named: "deviceId", call)
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

    func evaluateAllCircumstances(_ call: Call) throws(WireError) -> [UInt8] {
        let device = try device(named: "deviceId", call)
        let page = try Page(call.parameters)
        let onDemand = visibleCircumstances(call).filter { $0.record.trigger == nil && $0.record.isEnabled }
        return page.encode("results", page.sorted(onDemand, by: \.record.id), id: \.record.id) { circumstance in
            var writer = JSONWriter()
            writer.beginObject()
            writer.member("id", circumstance.record.id)
            self.encodeValue(of: circumstance, for: device, debug: false, call, into: &writer)
            writer.endObject()
            return writer.bytes
        }
    }

    // MARK: Parts

    private func circumstance(_ call: Call) throws(WireError) -> Circumstance {
        let id = try call.parameters.id("id")
        guard let circumstance = call.dataset.circumstances.circumstances[id] else {
            throw WireError(.notFound, "there is no circumstance `\(id)`", field: "id")
        }
        try call.checkOwner(circumstance.record.owner, of: "circumstance", id)
        return circumstance
    }

    private func visibleCircumstances(_ call: Call) -> [Circumstance] {
        let all = call.dataset.circumstances.circumstances
        return all.keys.compactMap { all[$0] }.filter { call.client.reaches(owner: $0.record.owner) }
    }

    private func change(
        _ circumstance: Circumstance, _ call: Call, _ turn: inout Turn, _ change: (inout CircumstanceRecord) -> Void
    ) {
        change(&circumstance.record)
        circumstance.record.updatedAt = call.now
        circumstance.record.revision = Revision.next(
            after: circumstance.record.revision, content: circumstance.record.encoded())
        turn.keep(.put(circumstance.record))
    }

    /// `"value"`, `"atPlaces"`, `"nearPlaces"` and, where asked for, `"trace"`.
    private func encodeValue(
        of circumstance: Circumstance, for device: Device, debug: Bool, _ call: Call, into writer: inout JSONWriter
    ) {
        let engine = call.dataset.circumstances.engine
        let world = world(of: call.dataset)
        let answer = engine.evaluate(circumstance.reference, for: device.reference.index, at: call.now, in: world)
        writer.key("value")
        writer.truth(answer.value)
        encode(answer.atPlaces, "atPlaces", in: call.dataset, into: &writer)
        encode(answer.nearPlaces, "nearPlaces", in: call.dataset, into: &writer)
        guard debug else { return }
        encode(engine.trace(circumstance.reference, for: device.reference.index, at: call.now, in: world), into: &writer)
    }

    private func describe(_ circumstance: Circumstance, warnings: [String] = []) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        circumstance.record.encodeMembers(into: &writer)
        if !warnings.isEmpty { writer.member("warnings", warnings) }
        writer.endObject()
        return writer.bytes
    }

    private static let warningsMax = 20

    /// What an expression names and nobody knows yet: it matches as soon as it exists.
    private func warnings(of expression: CircumstanceExpression, in dataset: Dataset) -> [String] {
        let world = world(of: dataset)
        var warnings: [String] = []
        expression.condition.forEachIdentity { key, id in
            let isKnown = world.isKnown(key, id)
            let warning = "the \(key.rawValue) `\(id)` is not known yet"
            if !isKnown, warnings.count < Self.warningsMax, !warnings.contains(warning) { warnings.append(warning) }
        }
        return warnings
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
