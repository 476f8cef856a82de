import Geodesy

extension PlaceTable {
    /// The handle of the place with this id.
    public func handle(of id: String) -> Handle? { handle(of: id, hash: id.withBytes(IDIndex.hash)) }

    func handle(of id: String, hash: UInt32) -> Handle? {
        id.withBytes { bytes in
            index.find(hash) { self.id(of: $0).equals(bytes) }
        }
    }

    @inline(__always)
    func id(of handle: Handle) -> UnsafeRawBufferPointer { PlaceText(arena.address(of: records[handle].text)).id }

    /// Whether a handle is that of a place now.
    public func contains(_ handle: Handle) -> Bool {
        handle < handlesEnd && records[handle].text != PlaceRecord.absent
    }

    /// The whole place.
    public subscript(id: String) -> Place? { handle(of: id).map { place($0) } }

    /// The whole place of a handle that is in use.
    public func place(_ handle: Handle) -> Place {
        let record = records[handle]
        let schedule = schedule(of: handle)
        return Place(
            id: id(handle), name: name(handle), categoryIDs: categoryIDs(handle), chainID: chainID(handle),
            openingHours: schedule?.openingHours, timeZone: schedule?.timeZone, holidays: schedule?.holidays ?? .none,
            placerank: placerank(handle), geometry: geometry(handle), owner: owner(handle),
            revision: PlaceText(arena.address(of: record.text)).revision)
    }

    // MARK: Facts of one place; the handle must be in use

    public func id(_ handle: Handle) -> String { String(decoding: id(of: handle), as: UTF8.self) }

    public func name(_ handle: Handle) -> String? { PlaceText(arena.address(of: records[handle].text)).name }

    public func revision(_ handle: Handle) -> String? { PlaceText(arena.address(of: records[handle].text)).revision }

    /// How many places belong to an owner.
    public func count(ownedBy owner: String) -> Int { owners.referenceCount(of: ExactText(owner)) }

    public func owner(_ handle: Handle) -> String? { owners[records[handle].owner]?.text }

    public func placerank(_ handle: Handle) -> Double? {
        let rank = records[handle].placerank
        return rank.isNaN ? nil : rank
    }

    public func categoryIDs(_ handle: Handle) -> [String] { categories(of: handle).compactMap { categories.id($0) } }

    /// The numbers of its categories in ``categories``, in the order they were given.
    public func categories(of handle: Handle) -> CategoryTree.Members { categories.members(records[handle].categories) }

    public func chainID(_ handle: Handle) -> String? { chains[records[handle].chain]?.text }

    /// The number of its chain; nil: none. Places of one chain have the same, and no other place has.
    public func chain(of handle: Handle) -> UInt32? { Self.present(records[handle].chain) }

    /// The number of a chain by its id; nil: no place is of this chain now.
    public func chain(_ id: String) -> UInt32? { chains.number(of: ExactText(id)) }

    /// The number of its opening hours, time zone and holidays; nil: none of them is known. Places with the same have the same
    /// number, which is given to others when no place has it any more.
    public func scheduleNumber(of handle: Handle) -> UInt32? { Self.present(records[handle].schedule) }

    /// The opening hours, time zone and holidays with a number.
    public func schedule(_ number: UInt32) -> Schedule? { schedules[number] }

    public func schedule(of handle: Handle) -> Schedule? { schedules[records[handle].schedule] }

    /// The point, or one that is inside the polygons, in degrees.
    public func point(of handle: Handle) -> (latitude: Double, longitude: Double) {
        (records[handle].latitude, records[handle].longitude)
    }

    /// A circle that holds all of a place: degrees and metres.
    public func extent(of handle: Handle) -> (latitude: Double, longitude: Double, radius: Double) {
        guard let footprint = footprint(of: handle) else {
            return (records[handle].latitude, records[handle].longitude, 0)
        }
        return (footprint.latitude, footprint.longitude, footprint.reach)
    }

    public func isPolygon(_ handle: Handle) -> Bool { records[handle].footprint != PlaceRecord.absent }

    public func geometry(_ handle: Handle) -> PlaceGeometry {
        guard let footprint = footprint(of: handle) else {
            return .point(latitude: records[handle].latitude, longitude: records[handle].longitude)
        }
        // They were polygons when they came in.
        let polygons = footprint.polygons.compactMap {
            try? Area.Polygon(rings: $0, verticesMax: PlaceGeometry.verticesMax)
        }
        return .polygons(polygons)
    }

    func footprint(of handle: Handle) -> Footprint? {
        let block = records[handle].footprint
        return block == PlaceRecord.absent ? nil : Footprint(outlines.address(of: block))
    }

    /// Whose entry of a level it is.
    @inline(__always)
    func handle(of entry: PlaceCells.Entry, _ level: Int) -> Handle {
        level == 0 ? entry.number : Footprint(outlines.address(of: entry.number)).handle
    }

    private static func present(_ number: UInt32) -> UInt32? { number == PlaceRecord.absent ? nil : number }
}
