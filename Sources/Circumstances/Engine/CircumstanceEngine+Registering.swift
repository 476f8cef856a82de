// Circumstances come, change and go.

extension CircumstanceEngine {
    /// Registers a circumstance, in the place of another one where that is given. It is watched at once: arriving fires for the
    /// devices of which it is true.
    ///
    /// What the replaced one held is gone, as with ``unregister(_:)``.
    @discardableResult
    public func register(
        _ rule: CircumstanceRule, replacing former: CircumstanceRef? = nil, isEnabled: Bool = true, at instant: Int64,
        in world: some CircumstanceWorld, into effects: inout [CircumstanceEffect]
    ) -> CircumstanceRef {
        let circumstance = add(rule, replacing: former, in: world)
        if isEnabled { watch(circumstance, isSilent: false, at: instant, in: world, into: &effects) }
        if rule.trigger == nil || !isEnabled { beginVisits(for: circumstance, at: instant, in: world, into: &effects) }
        return circumstance
    }

    /// Takes a circumstance in without evaluating it: ``resume(at:)`` does so when all are restored.
    public func restore(_ rule: CircumstanceRule, isEnabled: Bool, in world: some CircumstanceWorld) -> CircumstanceRef {
        let circumstance = add(rule, replacing: nil, in: world)
        if isEnabled { _ = insertWatch(circumstance, in: world) }
        return circumstance
    }

    /// Watches a circumstance again. The values of now are taken silently as its start.
    public func enable(
        _ circumstance: CircumstanceRef, at instant: Int64, in world: some CircumstanceWorld,
        into effects: inout [CircumstanceEffect]
    ) {
        guard let entry = entry(circumstance), entry.watch == nil else { return }
        watch(circumstance, isSilent: true, at: instant, in: world, into: &effects)
    }

    /// No longer watches a circumstance. Its held rows are void: whoever keeps them deletes those of this circumstance.
    public func disable(_ circumstance: CircumstanceRef) {
        guard let entry = entry(circumstance), let watch = entry.watch else { return }
        entries[Int(circumstance.index)]?.watch = nil
        removeWatch(watch)
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
        let program = Program(rule.expression.condition) { key, value in
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
        landmarks.forgetPredicates()
        for case let watch? in watches {
            for sight in watch.sights { _ = landmarks.show(sight, to: watch.owner) }
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

// MARK: - Watching

extension CircumstanceEngine {
    private func watch(
        _ circumstance: CircumstanceRef, isSilent: Bool, at instant: Int64, in world: some CircumstanceWorld,
        into effects: inout [CircumstanceEffect]
    ) {
        guard let watch = insertWatch(circumstance, in: world) else { return }
        latest = max(latest, instant)
        epoch &+= 1
        watch.epoch = epoch
        watch.isSilent = isSilent
        guard let devices = devices(concerning: watch, in: world) else {
            sweeping.append(circumstance.index)
            return sweepAll()
        }
        for device in devices.sorted() { review(device, at: instant, in: world, into: &effects) }
        // For all others it is false, as it was before.
        watch.epoch = 0
        watch.isSilent = false
    }

    /// Of a circumstance that is not watched: a device that stands where visits are asked for visits it from now on.
    private func beginVisits(
        for circumstance: CircumstanceRef, at instant: Int64, in world: some CircumstanceWorld,
        into effects: inout [CircumstanceEffect]
    ) {
        guard let entry = entry(circumstance), entry.program.usesVisits else { return }
        guard tracks.count <= Self.turnMax else { return sweepAll() }
        for device in tracks.indices { review(UInt32(device), at: instant, in: world, into: &effects) }
    }

    /// Nil when it is told at no time.
    private func insertWatch(_ circumstance: CircumstanceRef, in world: some CircumstanceWorld) -> Watch? {
        guard let entry = entry(circumstance), let trigger = entry.rule.trigger else { return nil }
        let watch = Watch(entry, circumstance: circumstance.index, trigger: trigger, in: memory.predicates)
        let number: UInt32
        if let free = freeWatches.popLast() {
            number = free
            watches[Int(free)] = watch
        } else {
            number = UInt32(truncatingIfNeeded: watches.count)
            watches.append(watch)
            briefs.append(.ended)
        }
        briefs[Int(number)] = WatchBrief(watch)
        entries[Int(circumstance.index)]?.watch = number
        if let guards = watch.guards {
            index.insert(number, of: watch.owner, guards)
        } else {
            unguarded[watch.owner, default: []].append(number)
        }
        uses.count(watch, by: 1)
        countSights(of: watch, by: 1)
        for sight in watch.sights { show(sight, to: watch.owner, in: world) }
        return watch
    }

    /// Devices of the owner, and those of nobody, have to do with what the watch is about.
    private func countSights(of watch: Watch, by step: Int) {
        for sight in watch.sights {
            interests[0].count(sight, by: step)
            interests[Int(watch.owner)].count(sight, by: step)
        }
    }

    private func show(_ sight: Sight, to owner: UInt32, in world: some CircumstanceWorld) {
        var scales = landmarks.show(sight, to: owner)
        guard scales != 0 else { return }
        let place = memory.predicates[sight.predicate].flatMap { $0.key == .place ? $0.value.text : nil }
        let extent = place.map { world.place(withID: $0).map { world.extent(of: $0) } }
        while scales != 0 {
            let scale = scales.trailingZeroBitCount
            scales &= scales - 1
            switch extent {
            case .some(.some(let extent)): landmarks.forget(extent, at: scale)
            // The place is not known yet.
            case .some(.none): break
            case .none: landmarks.forget(scale: scale)
            }
        }
    }

    private func removeWatch(_ number: UInt32) {
        guard let watch = watches[Int(number)] else { return }
        uses.count(watch, by: -1)
        countSights(of: watch, by: -1)
        if let guards = watch.guards {
            index.remove(number, of: watch.owner, guards)
        } else {
            unguarded[watch.owner]?.removeAll { $0 == number }
        }
        watches[Int(number)] = nil
        briefs[Int(number)] = .ended
        retired.append(number)
        if retired.count > 1024 + watches.count / 4 { purge() }
    }

    /// Takes ended watches out of all tracks, so that their numbers can be given out again.
    private func purge() {
        for device in tracks.indices where !tracks[device].held.isEmpty {
            tracks[device].held.removeAll { watches[Int($0)] == nil }
        }
        freeWatches += retired
        retired.removeAll()
    }

    /// The known devices that it can be true of now; nil where that may be any.
    private func devices(concerning watch: Watch, in world: some CircumstanceWorld) -> [UInt32]? {
        if tracks.count <= Self.turnMax { return tracks.indices.map { UInt32($0) } }
        guard let guards = watch.guards else { return nil }
        var found: Set<UInt32> = []
        for entry in guards {
            for predicate in entry.predicates {
                guard case .place? = memory.predicates[predicate]?.key, let id = memory.predicates[predicate]?.value.text else {
                    return nil
                }
                guard let place = world.place(withID: id) else { continue }
                guard let near = devices(near: place, within: entry.radius ?? PlaceReach.atMax, in: world) else { return nil }
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
        sweepRemaining = tracks.count
    }
}
