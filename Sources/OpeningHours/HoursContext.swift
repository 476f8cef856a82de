/// What opening hours are evaluated with: the place's zone, coordinates and holidays.
public struct HoursContext: Sendable {
    public var zone: Zone
    /// Degrees on WGS 84; nil makes times of the sun unknown.
    public var coordinates: (latitude: Double, longitude: Double)?
    public var publicHolidays: DayRanges
    public var schoolHolidays: DayRanges

    public init(
        zone: Zone, latitude: Double? = nil, longitude: Double? = nil, publicHolidays: DayRanges = DayRanges(),
        schoolHolidays: DayRanges = DayRanges()
    ) {
        self.zone = zone
        if let latitude, let longitude, latitude.magnitude <= 90, longitude.magnitude <= 180 {
            coordinates = (latitude, longitude)
        }
        self.publicHolidays = publicHolidays
        self.schoolHolidays = schoolHolidays
    }
}
