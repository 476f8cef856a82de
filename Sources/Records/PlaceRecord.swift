import Places

/// What one place is durably.
public struct PlaceRecord: Equatable, Sendable {
    public var dataset: String
    /// With its owner and its revision.
    public var place: Place

    public init(dataset: String, place: Place) {
        self.dataset = dataset
        self.place = place
    }
}

/// How often devices said to be at a place, in one hour of its week.
public struct VerificationRecord: Equatable, Sendable {
    public var dataset: String
    /// Of a place that may be gone.
    public var placeID: String
    /// 0…167, from Monday 00:00 at the place on.
    public var hour: Int
    public var count: Int

    public init(dataset: String, placeID: String, hour: Int, count: Int) {
        self.dataset = dataset
        self.placeID = placeID
        self.hour = hour
        self.count = count
    }
}

/// What one category is durably.
public struct CategoryRecord: Equatable, Sendable {
    public var dataset: String
    /// With its owner and its revision.
    public var category: Category

    public init(dataset: String, category: Category) {
        self.dataset = dataset
        self.category = category
    }
}
