/// The visits of one device, by place.
///
/// A visit begins with the first fix at a place and ends with the last one before the device is somewhere else.
public struct VisitHistory: Equatable, Sendable {
    /// Places remembered for each device; beyond that the one left longest ago is forgotten.
    public static let placesMax = 256
    /// Ends of visits remembered for each place.
    public static let endsMax = CircumstanceExpression.visitsMax

    /// In no order of meaning.
    public internal(set) var rows: [VisitRow] = []
    /// The places of the rows by their numbers, nil for those that do not exist, as of an epoch of the engine's places.
    private(set) var places: [UInt32?] = []
    private var epoch = UInt32.max

    public init() {}

    public static func == (left: VisitHistory, right: VisitHistory) -> Bool { left.rows == right.rows }

    /// Looks the places of the rows up, unless none has changed since.
    mutating func findPlaces(epoch: UInt32, in world: some CircumstanceWorld) {
        guard epoch != self.epoch || places.count != rows.count else { return }
        places = rows.map { world.place(withID: $0.placeID) }
        self.epoch = epoch
    }

    mutating func append(_ row: VisitRow, place: UInt32) {
        if places.count == rows.count { places.append(place) }
        rows.append(row)
    }

    mutating func remove(at index: Int) -> VisitRow {
        // They are looked up again.
        places.removeAll(keepingCapacity: true)
        return rows.remove(at: index)
    }

    func index(of placeID: String) -> Int? { rows.firstIndex { $0.placeID.utf8.elementsEqual(placeID.utf8) } }
}

/// The visits of one device to one place.
public struct VisitRow: Equatable, Sendable {
    public var placeID: String
    /// Visits that have ended.
    public var count: Int
    /// When the latest of them ended, oldest first: milliseconds since 1970 UTC.
    public var ends: [Int64]
    /// When the visit of now began; nil when there is none.
    public var openSince: Int64?
    /// The surest the device ever was there.
    public var level: ThresholdLevel

    public init(placeID: String, count: Int = 0, ends: [Int64] = [], openSince: Int64? = nil, level: ThresholdLevel = .low) {
        self.placeID = placeID
        self.count = count
        self.ends = ends
        self.openSince = openSince
        self.level = level
    }
}
