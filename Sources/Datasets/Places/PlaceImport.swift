import OpeningHours
import Places
import Wire
import Records

/// One `place/import`: what became of each feature.
///
/// A feature that is refused changes nothing, and the others are taken all the same. One that says what is known already of a place
/// counts as replaced, and changes nothing either.
struct PlaceImport {
    private let book: PlaceBook
    private let client: RequestingClient
    private let dataset: String
    private var reader = PlaceReader { Zone.named($0) != nil }
    private var report = ImportReport()
    /// Texts of hours that were read in this request: a city's places share them.
    private var hoursRead = ByteKeyed<HoursNotes>()
    /// That a list of holidays is missing is reported once, not of each place.
    private var hasWarnedOfPublicHolidays = false
    private var hasWarnedOfSchoolHolidays = false
    private var hasWarnedOfRadius = false
    private var seen = ByteKeyed<Bool>()
    /// What is to be made durable.
    private(set) var records: [PlaceRecord] = []

    init(into book: PlaceBook, of dataset: String, by client: RequestingClient) {
        self.book = book
        self.dataset = dataset
        self.client = client
    }

    /// Has a place of this id changed.
    typealias Changing = (_ id: String, _ isNew: Bool, _ change: () throws(WireError) -> Void) throws(WireError) -> Void

    mutating func importAll(_ features: [JSONValue], changing: Changing) {
        for (index, value) in features.enumerated() {
            do throws(WireError) {
                let place = try reader.place(value)
                try upsert(place, changing)
                warnOfRadius(value, place)
            } catch {
                report.refuse(PlaceReader.shownID(of: value), error, element: index)
            }
        }
    }

    private mutating func upsert(_ new: Place, _ changing: Changing) throws(WireError) {
        var place = new
        let known = book.table.handle(of: place.id)
        if let known {
            let owner = book.table.owner(known)
            guard client.reaches(owner: owner) else {
                throw WireError(.forbidden, "the place `\(place.id)` belongs to another client", field: "id")
            }
            place.owner = owner
        } else {
            place.owner = client.name
        }
        let revision = known.flatMap { book.table.revision($0) }
        let next = Revision.next(after: revision, content: place.content())
        place.revision = next
        if let revision, Revision.saysTheSame(revision, next) {
            report.replaced += 1
        } else {
            try put(place, known, changing)
        }
        if seen[place.id] != nil { report.warn("the place `\(place.id)` comes twice; the last one counts") }
        seen[place.id] = true
        warn(of: place)
    }

    private mutating func put(
        _ place: Place, _ known: PlaceTable.Handle?, _ changing: Changing
    ) throws(WireError) {
        if known == nil { try book.checkRoom() }
        try changing(place.id, known == nil) { () throws(WireError) in
            do throws(PlaceError) {
                try book.table.upsert(place)
            } catch {
                throw WireError(error)
            }
        }
        if known == nil { report.imported += 1 } else { report.replaced += 1 }
        records.append(PlaceRecord(dataset: dataset, place: place))
    }

    /// Hours are stored as they are. What they are read as is reported where that is another text, and what was guessed or not understood.
    private mutating func warn(of place: Place) {
        guard let text = place.openingHours else { return }
        let notes = hoursRead[text] ?? HoursNotes(text)
        hoursRead[text] = notes
        if let warning = notes.warning { report.warn("openingHours of `\(place.id)` are \(warning)") }
        if notes.usesPublicHolidays, place.holidays.publicDays.isEmpty, !hasWarnedOfPublicHolidays {
            hasWarnedOfPublicHolidays = true
            report.warn("openingHours of `\(place.id)`: \(OpeningHours.publicHolidaysWarning)")
        }
        if notes.usesSchoolHolidays, place.holidays.schoolRanges.isEmpty, !hasWarnedOfSchoolHolidays {
            hasWarnedOfSchoolHolidays = true
            report.warn("openingHours of `\(place.id)`: \(OpeningHours.schoolHolidaysWarning)")
        }
    }

    /// Other systems' places are circles.
    private mutating func warnOfRadius(_ value: JSONValue, _ place: Place) {
        guard !hasWarnedOfRadius, let feature = value.asObject,
            feature["radius"]?.asDouble ?? feature["properties"]?.asObject?["radius"]?.asDouble != nil
        else { return }
        hasWarnedOfRadius = true
        report.warn(
            "the place `\(place.id)` has a radius, which is not used: a place is a point or an outline, a geofence a circle")
    }

    func encoded() -> [UInt8] { report.encoded("places") }
}

/// What is reported of a text of opening hours.
private struct HoursNotes {
    let warning: String?
    let usesPublicHolidays: Bool
    let usesSchoolHolidays: Bool

    init(_ text: String) {
        let hours = OpeningHours(text)
        usesPublicHolidays = hours.usesPublicHolidays
        usesSchoolHolidays = hours.usesSchoolHolidays
        let warnings = hours.warnings.joined(separator: "; ")
        if !warnings.isEmpty {
            warning = "read as `\(hours.normalised)`: \(warnings)"
        } else {
            warning = hours.normalised.hasSameBytes(as: text) ? nil : "read as `\(hours.normalised)`"
        }
    }
}

extension WireError {
    init(_ error: PlaceError) {
        if case .full = error {
            self.init(.limit, error.message)
        } else {
            let field = error.field ?? "id"
            self.init(.invalid, "`\(field)` \(error.message)", field: field)
        }
    }
}
