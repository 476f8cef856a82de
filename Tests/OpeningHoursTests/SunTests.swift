import OpeningHours
import Testing

@Suite("Times of the sun")
struct SunTests {
    struct Place: Sendable, CustomTestStringConvertible {
        var name: String
        var zone: String
        var latitude: Double
        var longitude: Double
        var date: String
        /// Minutes of the day.
        var sunrise: Int
        var sunset: Int
        var testDescription: String { "\(name) \(date)" }
    }

    /// From the NOAA solar calculator.
    @Test(
        "The sun rises and sets within three minutes of the almanac",
        arguments: [
            Place(
                name: "Berlin", zone: "Europe/Berlin", latitude: 52.52, longitude: 13.405, date: "2024-06-21",
                sunrise: 4 * 60 + 43, sunset: 21 * 60 + 33),
            Place(
                name: "Berlin", zone: "Europe/Berlin", latitude: 52.52, longitude: 13.405, date: "2024-12-21",
                sunrise: 8 * 60 + 15, sunset: 15 * 60 + 54),
            Place(
                name: "New York", zone: "America/New_York", latitude: 40.7128, longitude: -74.006, date: "2024-03-20",
                sunrise: 6 * 60 + 59, sunset: 19 * 60 + 8),
            Place(
                name: "Sydney", zone: "Australia/Sydney", latitude: -33.8688, longitude: 151.2093, date: "2024-12-21",
                sunrise: 5 * 60 + 41, sunset: 20 * 60 + 5),
            Place(
                name: "Kiritimati", zone: "Pacific/Kiritimati", latitude: 1.87, longitude: -157.4, date: "2024-03-20",
                sunrise: 6 * 60 + 34, sunset: 18 * 60 + 40),
        ])
    func almanac(_ place: Place) throws {
        let context = HoursContext(
            zone: try #require(Zone.named(place.zone)), latitude: place.latitude, longitude: place.longitude)
        let day = try #require(LocalTime.date(place.date)).number
        let intervals = OpeningHours("sunrise-sunset").intervals(
            from: LocalTime(day: day, minute: 0), to: LocalTime(day: day + 1, minute: 0), in: context)
        let interval = try #require(intervals.first)
        #expect(intervals.count == 1 && interval.state == .open)
        #expect((interval.from.minute - place.sunrise).magnitude <= 3, "\(interval.from)")
        #expect((interval.to.minute - place.sunset).magnitude <= 3, "\(interval.to)")
    }

    @Test("Offsets move, nights end the next morning, and twilight is outside the day")
    func offsets() throws {
        let context = HoursContext(zone: try #require(Zone.named("Europe/Berlin")), latitude: 52.52, longitude: 13.405)
        let day = try #require(LocalTime.date("2024-04-10")).number
        func only(_ text: String) throws -> HoursInterval {
            try #require(
                OpeningHours(text).intervals(
                    from: LocalTime(day: day, minute: 720), to: LocalTime(day: day + 1, minute: 720), in: context
                ).first)
        }
        let sunset = try only("sunset-24:00").from.minute
        let sunrise = try only("Th sunrise-12:00").from.minute
        #expect(try only("(sunset+01:30)-24:00").from.minute == sunset + 90)
        #expect(try only("(sunset-01:30)-24:00").from.minute == sunset - 90)
        #expect(try only("dusk-24:00").from.minute > sunset + 20)
        #expect(try only("Th dawn-12:00").from.minute < sunrise - 20)
        let night = try only("We sunset-sunrise")
        #expect(night.from.minute == sunset && night.to == LocalTime(day: day + 1, minute: sunrise))
    }

    @Test("A morning that ends before the sun rises is closed, and one that ends before six is a night")
    func lateSunrise() throws {
        let context = HoursContext(zone: try #require(Zone.named("Europe/Berlin")), latitude: 52.52, longitude: 13.405)
        #expect(try listing(OpeningHours("sunrise-08:02"), from: "2024-12-20", to: "2024-12-23", in: context).isEmpty)
        #expect(try listing(OpeningHours("sunrise-08:02"), from: "2024-03-20", to: "2024-03-23", in: context).count == 3)
        #expect(try listing(OpeningHours("sunset-18:00"), from: "2024-06-20", to: "2024-06-23", in: context).isEmpty)
        #expect(
            try listing(OpeningHours("Fr sunrise-05:59"), from: "2024-12-20", to: "2024-12-22", in: context).first?.hasSuffix(
                "12-21 05:59 open") == true)
    }

    @Test("Without coordinates, and where the sun does not set, the day is unknown; without coordinates this is reported")
    func unknown() throws {
        let hours = OpeningHours("Mo sunrise-sunset; Tu 10:00-12:00")
        let expected = ["10-01 00:00 10-02 00:00 unknown", "10-02 10:00 10-02 12:00 open"]
        let nowhere = HoursContext(zone: .utc)
        #expect(try listing(hours, from: "2012-10-01", to: "2012-10-08", in: nowhere) == expected)
        #expect(hours.warnings(in: nowhere).count == 1)
        let north = HoursContext(zone: .utc, latitude: 78, longitude: 15)
        #expect(
            try listing(hours, from: "2012-06-04", to: "2012-06-06", in: north) == [
                "06-04 00:00 06-05 00:00 unknown", "06-05 10:00 06-05 12:00 open",
            ])
        #expect(hours.warnings(in: north).isEmpty)
        for pole in [90.0, -90, 89.999_999] {
            #expect(
                try listing(
                    hours, from: "2012-06-04", to: "2012-06-05", in: HoursContext(zone: .utc, latitude: pole, longitude: 0)
                ).count == 1)
        }
    }
}
