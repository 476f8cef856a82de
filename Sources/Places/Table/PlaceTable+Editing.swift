import Geodesy

extension PlaceTable {
    /// What became of a place that was put into the table.
    public enum Upsert: Equatable, Sendable {
        case imported(Handle)
        /// Its id was known; the handle stays.
        case replaced(Handle)

        public var handle: Handle {
            switch self {
            case .imported(let handle), .replaced(let handle): handle
            }
        }
    }

    /// The most bytes of texts, and entries of lists.
    enum Limits {
        static let id = 128
        static let name = 1024
        static let openingHours = 8192
        static let timeZone = 64
        static let revision = 128
        static let categories = 64
        static let publicDays = 1000
        static let schoolRanges = 200
    }

    /// Puts a place in, in the stead of the one that has its id.
    ///
    /// - Throws: Where it breaks a limit: texts of 1…128 bytes for ids, up to 1024 for the name, 8192 for the opening hours; up to
    ///   64 categories, 1000 public and 200 school holidays; the table's own limit.
    @discardableResult
    public func upsert(_ place: Place) throws(PlaceError) -> Upsert {
        let hash = place.id.withBytes(IDIndex.hash)
        index.prefetch(hash)
        try Self.check(place)
        let known = handle(of: place.id, hash: hash)
        if known == nil, count >= limit { throw .full(limit: limit) }
        var plan: Footprint.Plan?
        if case .polygons(let polygons) = place.geometry { plan = Footprint.Plan(polygons) }
        let handle = known ?? freeHandles.last ?? Handle(truncatingIfNeeded: records.count)
        guard let text = arena.take(PlaceText.wordCount(of: place)) else { throw .full(limit: count) }
        var footprint = PlaceRecord.absent
        if let plan {
            guard let block = outlines.take(plan.wordCount, referenceBits: PlaceCells.Entry.numberBits) else {
                arena.give(text, words: PlaceText.wordCount(of: place))
                throw .full(limit: count)
            }
            footprint = block
            plan.write(to: outlines.address(of: block), of: handle)
        }
        PlaceText(arena.address(of: text)).write(place)
        let record = record(of: place, text: text, footprint: footprint)
        generation &+= 1
        if let known {
            replace(known, by: record)
            return .replaced(known)
        }
        if freeHandles.popLast() == nil { _ = records.extend(by: 1) }
        records[handle] = record
        index.insert(handle, hash: hash)
        order.insert(handle) { id(of: $0) }
        enter(handle)
        return .imported(handle)
    }

    private func replace(_ handle: Handle, by record: PlaceRecord) {
        let before = records[handle]
        let stays =
            before.footprint == PlaceRecord.absent && record.footprint == PlaceRecord.absent
            && before.latitude == record.latitude && before.longitude == record.longitude
        if !stays { leave(handle) }
        // The id keeps its bytes, so that the index and the order need not know.
        let text = before.text
        records[handle] = record
        arena.give(text, words: PlaceText(arena.address(of: text)).wordCount)
        release(before)
        if !stays { enter(handle) }
    }

    /// Takes a place out; false: there is none of this id.
    @discardableResult
    public func remove(_ id: String) -> Bool {
        let hash = id.withBytes(IDIndex.hash)
        guard let handle = handle(of: id, hash: hash) else { return false }
        leave(handle)
        order.remove(handle) { self.id(of: $0) }
        index.remove(hash) { $0 == handle }
        let record = records[handle]
        arena.give(record.text, words: PlaceText(arena.address(of: record.text)).wordCount)
        release(record)
        records[handle].text = PlaceRecord.absent
        freeHandles.append(handle)
        generation &+= 1
        return true
    }

    private static func check(_ place: Place) throws(PlaceError) {
        func check(_ field: String, _ text: String?, _ limit: Int, emptyAllowed: Bool = false) throws(PlaceError) {
            guard let count = text?.utf8.count else { return }
            guard count <= limit, count > 0 || emptyAllowed else { throw .length(field: field, bytes: count, limit: limit) }
        }
        try check("id", place.id, Limits.id)
        try check("name", place.name, Limits.name, emptyAllowed: true)
        try check("chainId", place.chainID, Limits.id)
        try check("openingHours", place.openingHours, Limits.openingHours, emptyAllowed: true)
        try check("timeZone", place.timeZone, Limits.timeZone)
        try check("owner", place.owner, Limits.id)
        try check("revision", place.revision, Limits.revision, emptyAllowed: true)
        for category in place.categoryIDs { try check("categoryIds", category, Limits.id) }
        func check(_ field: String, _ count: Int, _ limit: Int) throws(PlaceError) {
            guard count <= limit else { throw .tooMany(field: field, count: count, limit: limit) }
        }
        try check("categoryIds", place.categoryIDs.count, Limits.categories)
        try check("holidays.PH", place.holidays.publicDays.count, Limits.publicDays)
        try check("holidays.SH", place.holidays.schoolRanges.count, Limits.schoolRanges)
        if let rank = place.placerank, !rank.isFinite { throw .placerank }
        guard place.geometry.isComplete else { throw .geometry }
    }

    private func record(of place: Place, text: UInt32, footprint: UInt32) -> PlaceRecord {
        let latitude: Double
        let longitude: Double
        switch place.geometry {
        case .point(let pointLatitude, let pointLongitude):
            latitude = pointLatitude
            longitude = pointLongitude
        case .polygons:
            (latitude, longitude) = Footprint(outlines.address(of: footprint)).representativePoint
        }
        return PlaceRecord(
            latitude: latitude, longitude: longitude, placerank: place.placerank ?? .nan, text: text, footprint: footprint,
            categories: categories.take(place.categoryIDs),
            chain: place.chainID.map { chains.take(ExactText($0)) } ?? PlaceRecord.absent,
            owner: place.owner.map { owners.take(ExactText($0)) } ?? PlaceRecord.absent,
            schedule: place.schedule.map { schedules.take($0) } ?? PlaceRecord.absent)
    }

    /// Gives back what a record refers to, but for its text.
    private func release(_ record: PlaceRecord) {
        if record.footprint != PlaceRecord.absent {
            outlines.give(record.footprint, words: Footprint(outlines.address(of: record.footprint)).wordCount)
        }
        categories.give(record.categories)
        if record.chain != PlaceRecord.absent { chains.release(record.chain) }
        if record.owner != PlaceRecord.absent { owners.release(record.owner) }
        if record.schedule != PlaceRecord.absent { schedules.release(record.schedule) }
    }

    // MARK: The grid

    private func enter(_ handle: Handle) {
        let record = records[handle]
        guard record.footprint != PlaceRecord.absent else {
            cells.insert(handle, level: 0, latitude: record.latitude, longitude: record.longitude)
            return
        }
        let footprint = Footprint(outlines.address(of: record.footprint))
        guard let level = CellShape.level(ofReach: footprint.reach) else {
            vast.append(handle)
            return
        }
        cells.insert(
            record.footprint, level: level, latitude: footprint.latitude, longitude: footprint.longitude,
            share: footprint.reach / CellShape.reach(level))
    }

    private func leave(_ handle: Handle) {
        let record = records[handle]
        guard record.footprint != PlaceRecord.absent else {
            cells.remove(handle, level: 0, latitude: record.latitude, longitude: record.longitude)
            return
        }
        let footprint = Footprint(outlines.address(of: record.footprint))
        guard let level = CellShape.level(ofReach: footprint.reach) else {
            if let place = vast.firstIndex(of: handle) {
                vast[place] = vast[vast.count - 1]
                vast.removeLast()
            }
            return
        }
        cells.remove(record.footprint, level: level, latitude: footprint.latitude, longitude: footprint.longitude)
    }
}
