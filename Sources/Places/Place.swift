import Geodesy

/// A point of interest, as it is put into a ``PlaceTable`` and as it comes out again.
public struct Place: Equatable, Sendable {
    /// 1…128 bytes, compared by its bytes.
    public var id: String
    public var name: String?
    /// In the order they were given, each once; a ``CategoryTree`` need not know them.
    public var categoryIDs: [String]
    public var chainID: String?
    /// OpenStreetMap's `opening_hours`, as text; nothing here reads it.
    public var openingHours: String?
    /// An IANA name; nothing here knows which exist.
    public var timeZone: String?
    public var holidays: Holidays
    /// How well known the place is, finite; the larger the better known.
    public var placerank: Double?
    public var geometry: PlaceGeometry
    /// Who wrote it first; nil: nobody in particular.
    public var owner: String?
    public var revision: String?

    public init(
        id: String, name: String? = nil, categoryIDs: [String] = [], chainID: String? = nil, openingHours: String? = nil,
        timeZone: String? = nil, holidays: Holidays = .none, placerank: Double? = nil, geometry: PlaceGeometry,
        owner: String? = nil, revision: String? = nil
    ) {
        self.id = id
        self.name = name
        self.categoryIDs = categoryIDs
        self.chainID = chainID
        self.openingHours = openingHours
        self.timeZone = timeZone
        self.holidays = holidays
        self.placerank = placerank
        self.geometry = geometry
        self.owner = owner
        self.revision = revision
    }

    /// The hours with what they are read by; nil where there is none of it.
    var schedule: Schedule? {
        guard openingHours != nil || timeZone != nil || holidays != .none else { return nil }
        return Schedule(openingHours: openingHours, timeZone: timeZone, holidays: holidays)
    }
}
