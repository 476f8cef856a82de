// Circumstances come, change and go.

extension CircumstanceEngine {
    /// Registers a circumstance, in the place of another one where that is given. It is active at once: arriving fires for the
    /// devices of which it is true.
    ///
    /// What the replaced one held is gone, as with ``unregister(_:)``.
    @discardableResult
    public func register(
        _ rule: CircumstanceRule, replacing former: CircumstanceRef? = nil, isEnabled: Bool = true, at instant: Int64,
        in world: some CircumstanceWorld, into effects: inout [CircumstanceEffect]
    ) -> CircumstanceRef {
        let circumstance = add(rule, replacing: former, in: world)
        if isEnabled { activate(circumstance, isSilent: false, at: instant, in: world, into: &effects) }
        if rule.trigger == nil || !isEnabled { beginVisits(for: circumstance, at: instant, in: world, into: &effects) }
        return circumstance
    }

    /// Takes a circumstance in without evaluating it: ``resume(at:)`` does so when all are restored.
    public func restore(_ rule: CircumstanceRule, isEnabled: Bool, in world: some CircumstanceWorld) -> CircumstanceRef {
        let circumstance = add(rule, replacing: nil, in: world)
        // Not all places may be back.
        areNamedPlacesStale = true
        if isEnabled { _ = insertActive(circumstance, in: world) }
        return circumstance
    }

    /// Activates a circumstance again. It starts from the values of now, which are not reported.
    public func enable(
        _ circumstance: CircumstanceRef, at instant: Int64, in world: some CircumstanceWorld,
        into effects: inout [CircumstanceEffect]
    ) {
        guard let entry = entry(circumstance), entry.active == nil else { return }
        activate(circumstance, isSilent: true, at: instant, in: world, into: &effects)
    }

    /// Ends the evaluation of a circumstance. Its held rows are void: the caller deletes those of this circumstance.
    public func disable(_ circumstance: CircumstanceRef) {
        guard let entry = entry(circumstance), let active = entry.active else { return }
        entries[Int(circumstance.index)]?.active = nil
        removeActive(active)
    }

    /// Removes a circumstance. Its held rows are void, as with ``disable(_:)``.
    public func unregister(_ circumstance: CircumstanceRef) {
        guard let entry = entry(circumstance) else { return }
        disable(circumstance)
        uses.countVisits(entry.program, covering: memory.predicates, by: -1)
        release(entry.program)
        entries[Int(circumstance.index)] = nil
        freeEntries.append(circumstance.index)
    }

    public func rule(_ circumstance: CircumstanceRef) -> CircumstanceRule? { entry(circumstance)?.rule }

    func entry(_ circumstance: CircumstanceRef) -> CircumstanceEntry? {
        Int(circumstance.index) < entries.count ? entries[Int(circumstance.index)] : nil
    }

    private func add(_ rule: CircumstanceRule, replacing former: CircumstanceRef?, in world: some CircumstanceWorld)
        -> CircumstanceRef
    {
        if let former { unregister(former) }
        var new: [PredicateTable.Predicate] = []
        let program = Program(rule.expression.condition, of: rule.owner) { key, value in
            let (number, isNew) = memory.predicates.retain(key, value)
            if isNew { new.append(.init(key: key, value: IdentityText(value))) }
            return number
        }
        learn(new, in: world)
        uses.countVisits(program, covering: memory.predicates, by: 1)
        let entry = CircumstanceEntry(
            rule: rule, program: program, owner: number(of: rule.owner), devices: Set(rule.devices.map { IdentityText($0) }))
        if let former, freeEntries.last == former.index {
            freeEntries.removeLast()
            entries[Int(former.index)] = entry
            return former
        }
        if let free = freeEntries.popLast() {
            entries[Int(free)] = entry
            return CircumstanceRef(index: free)
        }
        entries.append(entry)
        return CircumstanceRef(index: UInt32(truncatingIfNeeded: entries.count - 1))
    }

    /// What is remembered of places does not cover new predicates.
    private func learn(_ new: [PredicateTable.Predicate], in world: some CircumstanceWorld) {
        if new.contains(where: { $0.key != .place }) { return memory.forgetAll() }
        for predicate in new { if let place = world.place(withID: predicate.value.text) { memory.forgetProfile(place) } }
    }

    private func release(_ program: Program) {
        var haveChanged = false
        for predicate in program.predicates where memory.predicates.release(predicate) { haveChanged = true }
        guard haveChanged else { return }
        memory.forgetAll()
        tiles.forgetPredicates()
        for case let active? in actives {
            for query in active.queries { tiles.show(query) }
        }
    }

    /// 0 is nobody.
    func number(of owner: String) -> UInt32 {
        let key = IdentityText(owner)
        if let number = owners[key] { return number }
        let number = UInt32(truncatingIfNeeded: owners.count + 1)
        owners[key] = number
        interests.append(Interest())
        return number
    }
}

// MARK: - Activating

extension CircumstanceEngine {
    private func activate(
        _ circumstance: CircumstanceRef, isSilent: Bool, at instant: Int64, in world: some CircumstanceWorld,
        into effects: inout [CircumstanceEffect]
    ) {
        guard let active = insertActive(circumstance, in: world) else { return }
        latest = max(latest, instant)
        epoch &+= 1
        active.epoch = epoch
        active.isSilent = isSilent
        guard !isLearning, let devices = devices(concerning: active, in: world) else {
            sweeping.append(circumstance.index)
            return sweepAll()
        }
        for device in devices.sorted() { review(device, at: instant, in: world, into: &effects) }
        // For all others it is false, as it was before.
        active.epoch = 0
        active.isSilent = false
    }

    /// Of a circumstance that is not active: a device at a place whose visits are asked for visits it from now on.
    private func beginVisits(
        for circumstance: CircumstanceRef, at instant: Int64, in world: some CircumstanceWorld,
        into effects: inout [CircumstanceEffect]
    ) {
        guard let entry = entry(circumstance), entry.program.usesVisits else { return }
        guard !isLearning, tracks.count <= Self.turnMax else { return sweepAll() }
        for device in tracks.indices { review(UInt32(device), at: instant, in: world, into: &effects) }
    }

    /// Nil when it is never reported.
    private func insertActive(_ circumstance: CircumstanceRef, in world: some CircumstanceWorld) -> ActiveCircumstance? {
        guard let entry = entry(circumstance), let trigger = entry.rule.trigger else { return nil }
        let active = ActiveCircumstance(entry, circumstance: circumstance.index, trigger: trigger, in: memory.predicates)
        let number: UInt32
        if let free = freeActives.popLast() {
            number = free
            actives[Int(free)] = active
        } else {
            number = UInt32(truncatingIfNeeded: actives.count)
            actives.append(active)
            summaries.append(.ended)
        }
        summaries[Int(number)] = ActiveSummary(active)
        entries[Int(circumstance.index)]?.active = number
        if active.preconditions != nil {
            index.insert(number, of: active.owner, active.preconditionQueries)
        } else {
            unconditional[active.owner, default: []].append(number)
        }
        for naming in active.namings {
            let found = areNamedPlacesStale ? nil : place(named: naming.predicate, in: world)
            named.insert(naming, by: number, of: active.owner, found)
        }
        uses.count(active, by: 1)
        countQueries(of: active, by: 1)
        for query in active.queries { tiles.show(query) }
        return active
    }

    /// Devices of the owner, and those of nobody, have to do with what the circumstance is about.
    private func countQueries(of active: ActiveCircumstance, by step: Int) {
        for query in active.queries {
            interests[0].count(query, by: step)
            interests[Int(active.owner)].count(query, by: step)
        }
    }

    private func place(named predicate: UInt32, in world: some CircumstanceWorld) -> NamedPlaces.Found? {
        guard let id = memory.predicates[predicate]?.value.text, let place = world.place(withID: id), place < UInt32(Int32.max)
        else { return nil }
        return NamedPlaces.Found(place: place, extent: world.extent(of: place))
    }

    /// Before a place changes: the circumstances that name it find it no longer.
    func hideNamed(_ place: UInt32, in world: some CircumstanceWorld) {
        forEachOwner(naming: place, in: world) { predicate, owner in named.hide(predicate, from: owner) }
    }

    /// After a place changed: the circumstances that name it find it where it is. Very many do so one after the other, with
    /// ``advance(to:atMost:in:into:)``, and earlier those of a device that is looked at.
    func showNamed(_ place: UInt32, in world: some CircumstanceWorld) {
        forEachOwner(naming: place, in: world) { predicate, owner in
            named.show(predicate, self.place(named: predicate, in: world), to: owner)
        }
    }

    /// Has an owner find the places that changed while very many named them.
    func refreshNamed(of owner: UInt32, in world: some CircumstanceWorld) {
        for predicate in named.outdated.keys { named.refresh(predicate, place(named: predicate, in: world), to: owner) }
    }

    /// The same for so many of those that name one of them.
    func refreshNamed(atMost limit: Int, in world: some CircumstanceWorld) {
        guard let predicate = named.firstOutdated else { return }
        let found = place(named: predicate, in: world)
        for _ in 0..<max(limit, 1) {
            guard let namer = named.popOutdated(predicate) else { return named.refresh(predicate, found, to: 0) }
            if let owner = actives[Int(namer.active)]?.owner { named.refresh(predicate, found, to: owner) }
        }
    }

    private func forEachOwner(naming place: UInt32, in world: some CircumstanceWorld, _ body: (UInt32, UInt32) -> Void) {
        guard !areNamedPlacesStale, let predicate = memory.predicates.number(.place, world.facts(of: place).id) else { return }
        guard named.namerCount(of: predicate) <= namersAtOnce else { return named.noteOutdated(predicate) }
        let owners = Set(named.namers(of: predicate, 0).compactMap { actives[Int($0.active)]?.owner })
        for owner in [0] + owners { body(predicate, owner) }
    }

    /// All places that are named, from the world as it is now.
    func findNamedPlaces(in world: some CircumstanceWorld) {
        areNamedPlacesStale = false
        named.hideAll()
        for case let active? in actives {
            for naming in active.namings {
                let found = place(named: naming.predicate, in: world)
                for owner in [0, active.owner] { named.show(naming.predicate, found, to: owner) }
            }
        }
    }

    private func removeActive(_ number: UInt32) {
        guard let active = actives[Int(number)] else { return }
        uses.count(active, by: -1)
        countQueries(of: active, by: -1)
        for naming in active.namings { named.remove(naming, by: number, of: active.owner) }
        if active.preconditions != nil {
            index.remove(number, of: active.owner, active.preconditionQueries)
        } else {
            unconditional[active.owner]?.removeAll { $0 == number }
        }
        actives[Int(number)] = nil
        summaries[Int(number)] = .ended
        retired.append(number)
        if retired.count > 1024 + actives.count / 4 { purge() }
    }

    /// Removes ended circumstances from all tracks, so that their numbers can be given out again.
    private func purge() {
        for device in tracks.indices where !tracks[device].held.isEmpty {
            tracks[device].held.removeAll { actives[Int($0)] == nil }
        }
        freeActives += retired
        retired.removeAll()
    }

    /// The known devices that it can be true of now; nil where that may be any.
    private func devices(concerning active: ActiveCircumstance, in world: some CircumstanceWorld) -> [UInt32]? {
        if tracks.count <= Self.turnMax { return tracks.indices.map { UInt32($0) } }
        guard let preconditions = active.preconditions else { return nil }
        var found: Set<UInt32> = []
        for entry in preconditions {
            for predicate in entry.predicates {
                guard case .place? = memory.predicates[predicate]?.key, let id = memory.predicates[predicate]?.value.text else {
                    return nil
                }
                guard let place = world.place(withID: id) else { continue }
                let reach = PlaceReach.reach(nearRadius: entry.nearRadius, at: PlaceReach.atMax)
                guard let near = devices(near: place, within: reach, in: world) else { return nil }
                found.formUnion(near)
                if found.count > Self.turnMax { return nil }
            }
        }
        return Array(found)
    }

    /// The known devices that may be within `reach` metres of a place; nil where these may be any.
    func devices(near place: UInt32, within reach: Double, in world: some CircumstanceWorld) -> [UInt32]? {
        let extent = world.extent(of: place)
        return cells.devices(
            latitude: extent.latitude, longitude: extent.longitude, radius: extent.radius + reach + Self.safeMax)
    }

    /// Every device is looked at, in turns.
    ///
    /// Until the sweep comes to a device, no fix of it is taken in unseen.
    func sweepAll() {
        epoch &+= 1
        // While devices become known there may be none as yet.
        sweepRemaining = isLearning ? max(1, tracks.count) : tracks.count
    }
}
