import OpeningHours
import Places

/// Opening hours as they are evaluated, read once for all places that have the same.
struct PlaceHours {
    /// Hours with what they are read by.
    final class Reading {
        let schedule: Schedule
        /// nil: none are known.
        let hours: OpeningHours?
        let zone: Zone
        let publicHolidays: DayRanges
        let schoolHolidays: DayRanges

        init(_ schedule: Schedule, defaultZone: Zone) {
            self.schedule = schedule
            hours = schedule.openingHours.map { OpeningHours($0) }
            zone = schedule.timeZone.flatMap { Zone.named($0) } ?? defaultZone
            let days = schedule.holidays
            publicHolidays = DayRanges(days: days.publicDays.compactMap { LocalTime.date($0)?.number })
            schoolHolidays = DayRanges(
                days.schoolRanges.compactMap { range in
                    guard let first = LocalTime.date(range.first)?.number, let last = LocalTime.date(range.last)?.number,
                        first <= last
                    else {
                        return nil
                    }
                    return first...last
                })
        }

        func context(latitude: Double, longitude: Double) -> HoursContext {
            HoursContext(
                zone: zone, latitude: latitude, longitude: longitude, publicHolidays: publicHolidays,
                schoolHolidays: schoolHolidays)
        }
    }

    /// By the table's numbers, which are given again: the schedule a reading is of is compared.
    private var readings: [UInt32: Reading] = [:]
    /// Of places that name none.
    let defaultZone: Zone

    /// Beyond, they are read again when they are asked for.
    private static let readingsMax = 100_000

    init(timeZone: String) { defaultZone = Zone.named(timeZone) ?? .utc }

    /// The hours of a number.
    ///
    /// - Parameter schedule: What the number means at present.
    mutating func reading(_ number: UInt32, of schedule: Schedule) -> Reading {
        if let known = readings[number], known.schedule == schedule { return known }
        if readings.count >= Self.readingsMax { readings.removeAll(keepingCapacity: true) }
        let reading = Reading(schedule, defaultZone: defaultZone)
        readings[number] = reading
        return reading
    }
}
