/// What a word means in opening hours.
enum Word: Sendable, Equatable {
    /// Bit 0 is Monday; a single day or a name for several.
    case weekday(Int)
    case weekdays(UInt8)
    /// 1 to 12.
    case month(Int)
    case holiday(DayPattern.Holiday)
    /// The first half of `public holiday`.
    case holidayKind(DayPattern.Holiday)
    case state(OpenState)
    case event(Sun.Event)
    /// Day and night.
    case always
    case noon
    case midnight
    case week
    case easter
    /// Between the ends of a range.
    case to
    case and
    /// Hours to add after 12: 0 or 12.
    case meridiem(Int)
    case hour
    case day
    case openEnd
    case end
    /// Says nothing: `from 8 to 10`.
    case filler

    /// The meaning of a word in lower case.
    static func meaning(of word: String) -> Word? { table[word] }

    static let weekdayNames = ["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"]
    static let monthNames = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private static let table: [String: Word] = {
        var table: [String: Word] = [:]
        func add(_ word: Word, _ names: String) {
            for name in names.split(separator: " ") { table[String(name)] = word }
        }
        for (index, names) in weekdays.enumerated() { add(.weekday(index), names) }
        for (index, names) in months.enumerated() { add(.month(index + 1), names) }
        add(.weekdays(0b110_0000), "weekend weekends wochenende")
        add(.weekdays(0b001_1111), "weekday weekdays workday workdays werktags")
        add(.weekdays(0b111_1111), "daily everyday täglich")
        add(.holiday(.publicHoliday), "ph holiday holidays feiertag feiertage feiertags feiertagen")
        add(.holiday(.schoolHoliday), "sh schulferien")
        add(.holidayKind(.publicHoliday), "public bank")
        add(.holidayKind(.schoolHoliday), "school")
        add(.state(.open), "open opened geöffnet")
        add(.state(.closed), "off closed close geschlossen fermé fermée cerrado chiuso gesloten")
        add(.state(.unknown), "unknown")
        add(.event(.dawn), "dawn")
        add(.event(.sunrise), "sunrise sonnenaufgang")
        add(.event(.sunset), "sunset sonnenuntergang")
        add(.event(.dusk), "dusk")
        add(.always, "always nonstop")
        add(.noon, "noon midday")
        add(.midnight, "midnight mitternacht")
        add(.week, "week weeks")
        add(.easter, "easter")
        add(.to, "to till til until through thru bis a á à as ás às ate até до")
        add(.and, "and und et")
        add(.meridiem(0), "am")
        add(.meridiem(12), "pm")
        add(.hour, "h hr hrs hour hours uhr")
        add(.day, "day days")
        add(.openEnd, "late openend")
        add(.end, "end ende")
        add(.filler, "from on at von every")
        return table
    }()

    /// English names and their short forms, the plurals of the long ones, and the German ones, which no English one is like.
    private static let weekdays = [
        "mo mon monday mondays montag montags",
        "tu tue tues tuesday tuesdays di dienstag dienstags",
        "we wed weds wednesday wednesdays mi mittwoch mittwochs",
        "th thu thur thurs thursday thursdays do donnerstag donnerstags",
        "fr fri friday fridays freitag freitags",
        "sa sat saturday saturdays samstag samstags",
        "su sun sunday sundays so sonntag sonntags",
    ]
    private static let months = [
        "jan january januar", "feb february februar", "mar march mär märz", "apr april", "may mai", "jun june juni",
        "jul july juli", "aug august", "sep sept september", "oct october okt oktober", "nov november",
        "dec december dez dezember",
    ]
}
