import Geodesy

/// Which places a list is of: all that fulfil every condition there is.
public struct PlaceFilter: Equatable, Sendable {
    /// The place's point, or any part of its polygons, lies in it.
    public var area: Area?
    /// The id of one of its categories, or of one above it.
    public var categoryID: String?
    public var chainID: String?

    public init(within area: Area? = nil, categoryID: String? = nil, chainID: String? = nil) {
        self.area = area
        self.categoryID = categoryID
        self.chainID = chainID
    }
}

extension PlaceTable {
    /// A part of a list.
    public struct Page: Equatable, Sendable {
        /// In the order of the ids' bytes.
        public var handles: [Handle]
        /// There may be more behind this id; nil: there is not.
        public var next: String?
    }

    /// So many places are looked at for one page, which may so be shorter than asked for, or empty, with more to come.
    static let lookedAtMax = 2_000_000

    /// The places behind an id that fulfil a filter, in the order of the ids' bytes.
    ///
    /// - Parameters:
    ///   - id: nil: from the first one on. It need not be that of a place.
    ///   - limit: How many at most.
    public func page(_ filter: PlaceFilter = PlaceFilter(), after id: String? = nil, limit: Int) -> Page {
        guard limit > 0 else { return Page(handles: [], next: id) }
        var category: CategoryTree.Number?
        if let categoryID = filter.categoryID {
            guard let number = categories.number(categoryID) else { return Page(handles: [], next: nil) }
            category = number
        }
        var chain: UInt32?
        if let chainID = filter.chainID {
            guard let number = self.chain(chainID) else { return Page(handles: [], next: nil) }
            chain = number
        }
        let isWanted = { (handle: Handle) -> Bool in
            let record = self.records[handle]
            if let chain, record.chain != chain { return false }
            if let category, !self.isOfCategory(handle, category) { return false }
            guard let area = filter.area else { return true }
            if area.contains(latitude: record.latitude, longitude: record.longitude) { return true }
            return self.footprint(of: handle)?.meets(area) ?? false
        }
        if let area = filter.area, let found = handles(in: area.bounds, isWanted: isWanted) {
            return page(of: found, after: id, limit: limit)
        }
        return page(after: id, limit: limit, isWanted: isWanted)
    }

    private func page(of found: [Handle], after id: String?, limit: Int) -> Page {
        var handles = found
        if let id { id.withBytes { bound in handles.removeAll { !bound.precedes(self.id(of: $0)) } } }
        handles.sort { self.id(of: $0).precedes(self.id(of: $1)) }
        guard handles.count > limit else { return Page(handles: handles, next: nil) }
        return Page(handles: Array(handles.prefix(limit)), next: self.id(handles[limit - 1]))
    }

    private func page(after id: String?, limit: Int, isWanted: (Handle) -> Bool) -> Page {
        var page = Page(handles: [], next: nil)
        var lookedAt = 0
        func walk(_ bound: UnsafeRawBufferPointer?) {
            order.walk(
                after: bound, id: { self.id(of: $0) }, isWanted: isWanted,
                goesOn: { count in
                    lookedAt += count
                    return lookedAt < Self.lookedAtMax
                },
                stopped: { page.next = self.id($0) },
                visit: { handle in
                    if page.handles.count == limit {
                        page.next = page.handles.last.map { self.id($0) }
                        return false
                    }
                    page.handles.append(handle)
                    return true
                })
        }
        if let id { id.withBytes { walk($0) } } else { walk(nil) }
        return page
    }

    /// The places of a box that are wanted, in no order; nil: to walk through all in order is cheaper.
    private func handles(in box: Area.Box, isWanted: (Handle) -> Bool) -> [Handle]? {
        let most = 50_000
        // Degrees at a level's cells of eight by eight; the world has two billion.
        guard count > 4096, (box.north - box.south) * box.width < 4 else { return nil }
        var found = vast.filter(isWanted)
        for level in cells.levels where found.count <= most {
            let span = CellSpan(box: box, margin: level == 0 ? 0 : CellShape.reach(level) + 0.03)
            cells.forEachCell(level, in: span) { cell in
                for entry in cells.entries(of: cell) {
                    let handle = handle(of: entry, level)
                    if isWanted(handle) { found.append(handle) }
                }
                return found.count <= most
            }
        }
        return found.count <= most ? found : nil
    }
}
