/// The weekdays and holidays a rule selects.
struct DayPattern: Sendable, Equatable {
    enum Holiday: UInt8, Sendable {
        case publicHoliday
        case schoolHoliday
    }

    /// A holiday, or a day some days after it.
    struct HolidayPart: Sendable, Equatable {
        var holiday: Holiday
        var offset: Int16 = 0

        func contains(_ day: CalendarDay, in context: HoursContext) -> Bool {
            let number = day.number - Int(offset)
            return switch holiday {
            case .publicHoliday: context.publicHolidays.contains(number)
            case .schoolHoliday: context.schoolHolidays.contains(number)
            }
        }
    }

    /// Certain ones of a weekday in the month, or a day some days after.
    struct NthWeekday: Sendable, Equatable {
        /// 0 is Monday.
        var weekday: UInt8
        /// Bits 1 to 5 from the start of the month, bits 9 to 13 from its end.
        var positions: UInt16
        var offset: Int16 = 0

        func contains(_ day: CalendarDay) -> Bool {
            let base = offset == 0 ? day : CalendarDay(number: day.number - Int(offset))
            guard base.weekday == Int(weekday) else { return false }
            let fromStart = (base.day - 1) / 7 + 1
            let fromEnd = (CalendarDay.days(in: base.month, of: base.year) - base.day) / 7 + 1
            return positions & (1 << UInt16(fromStart) | 1 << UInt16(fromEnd + 8)) != 0
        }
    }

    /// Bit 0 is Monday.
    var weekdays: UInt8 = 0
    var nth: [NthWeekday] = []
    /// Holidays beside the weekdays: `Mo-Sa,PH`.
    var holidays: [HolidayPart] = []
    /// Holidays on which alone the weekdays count: `SH Mo-Fr`.
    var onlyOn: [HolidayPart] = []

    var isEmpty: Bool { weekdays == 0 && nth.isEmpty && holidays.isEmpty && onlyOn.isEmpty }

    func contains(_ day: CalendarDay, in context: HoursContext) -> Bool {
        if !onlyOn.isEmpty && !onlyOn.contains(where: { $0.contains(day, in: context) }) { return false }
        if weekdays == 0 && nth.isEmpty && holidays.isEmpty { return true }
        return weekdays & (1 << UInt8(day.weekday)) != 0
            || nth.contains { $0.contains(day) }
            || holidays.contains { $0.contains(day, in: context) }
    }
}
