/// What circumstances are about: places, their hours and clocks, live data. It is asked, never kept.
///
/// A place is known by a number below 2^31 that stays the same while the place exists; ``CircumstanceEngine/placeWillChange(_:in:)`` and
/// ``CircumstanceEngine/placeDidChange(_:exists:at:in:into:)`` report each change.
public protocol CircumstanceWorld {
    /// Appends the places within `radius` metres of the position (degrees), in any order. The distance of a place without an outline
    /// is that of its ``GridPoint``.
    func places(latitude: Double, longitude: Double, radius: Double, into places: inout [NearbyPlace])
    /// The distance of one of them, metres; nil where it is beyond 20 km.
    func distance(of place: UInt32, latitude: Double, longitude: Double) -> Double?
    /// How surely a device that sent this accuracy is at a place this far away. Metres, 0 inside of an outline; nil where none was
    /// sent.
    func threshold(of place: UInt32, distance: Double, accuracy: Double?) -> ThresholdLevel
    /// What rules compare.
    func facts(of place: UInt32) -> PlaceFacts
    /// The place with this id; nil while there is none.
    func place(withID id: String) -> UInt32?
    /// Whether there is such a place, category or chain at all.
    func isKnown(_ key: IdentityKey, _ id: String) -> Bool
    /// A circle round the place; its radius is 0 where the place has no outline.
    func extent(of place: UInt32) -> PlaceExtent
    /// Whether the place is open at an instant (ms since 1970 UTC), and until when that is sure.
    func opening(of place: UInt32, at instant: Int64) -> Opening
    /// Whether the place has opening hours at all.
    func hasOpeningHours(_ place: UInt32) -> Bool
    /// The local clock of a place, or of the dataset.
    func clock(of place: UInt32?, at instant: Int64) -> LocalClock
    /// Live data of the room or location the device is in, as far as the owner of the circumstance may know; nil where there is none.
    func live(device: UInt32, domain: String, property: String, for owner: String) -> LiveRule.Value?
}

/// A place near a device.
public struct NearbyPlace: Equatable, Sendable {
    public var place: UInt32
    /// Metres to the point or the edge; 0 inside.
    public var distance: Double

    public init(place: UInt32, distance: Double) {
        self.place = place
        self.distance = distance
    }
}

/// What rules compare of a place.
public struct PlaceFacts: Sendable {
    public var id: String
    public var chainID: String?
    /// As the place has them.
    public var categoryIDs: [String]
    /// Those above them, in any order; repeated ones do no harm.
    public var ancestorIDs: [String]

    public init(id: String, chainID: String? = nil, categoryIDs: [String] = [], ancestorIDs: [String] = []) {
        self.id = id
        self.chainID = chainID
        self.categoryIDs = categoryIDs
        self.ancestorIDs = ancestorIDs
    }
}

/// A circle round all of a place: degrees and metres.
public struct PlaceExtent: Equatable, Sendable {
    public var latitude: Double
    public var longitude: Double
    public var radius: Double

    public init(latitude: Double, longitude: Double, radius: Double = 0) {
        self.latitude = latitude
        self.longitude = longitude
        self.radius = radius
    }
}

/// Open, closed or, where hours are missing or not understood, unknown.
public struct Opening: Equatable, Sendable {
    public var isOpen: Truth
    /// The first instant at which it may be otherwise; `Int64.max` for never.
    public var until: Int64

    public init(isOpen: Truth, until: Int64) {
        self.isOpen = isOpen
        self.until = until
    }
}

/// What a clock on the wall says.
public struct LocalClock: Equatable, Sendable {
    /// 1 is Monday, 7 Sunday.
    public var dayOfWeek: Int
    /// 0 to 1439.
    public var minuteOfDay: Int
    /// Milliseconds since the minute began.
    public var millisecond: Int64
    /// Until when it runs on without being set; `Int64.max` for ever.
    public var until: Int64

    public init(dayOfWeek: Int, minuteOfDay: Int, millisecond: Int64, until: Int64 = .max) {
        self.dayOfWeek = dayOfWeek
        self.minuteOfDay = minuteOfDay
        self.millisecond = millisecond
        self.until = until
    }
}
