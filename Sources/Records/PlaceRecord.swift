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

extension CategoryRecord: DurableRecord {
    public static var kind: Kind { .category }

    public func write(to fields: inout some FieldWriter) {
        fields.write(dataset)
        fields.write(category.id)
        fields.write(category.name)
        fields.write(category.parentID)
        fields.write(category.owner)
        fields.write(category.revision)
    }

    public init(from fields: inout some FieldReader) {
        self.init(
            dataset: fields.text(),
            category: Category(
                id: fields.text(), name: fields.text(), parentID: fields.optionalText(), owner: fields.optionalText(),
                revision: fields.optionalText()))
    }

    public var feedEntry: FeedEntry? {
        .object(type: .category, id: category.id, revision: category.revision ?? "", owner: category.owner, reader: nil)
    }
}

extension PlaceRecord: DurableRecord {
    public static var kind: Kind { .place }

    public func write(to fields: inout some FieldWriter) {
        let holidays = place.holidays
        fields.write(dataset)
        fields.write(place.id)
        fields.write(place.name)
        fields.write(list: place.categoryIDs)
        fields.write(place.chainID)
        fields.write(place.openingHours)
        fields.write(place.timeZone)
        fields.write(list: holidays.publicDays.isEmpty ? nil : holidays.publicDays)
        fields.write(
            list: holidays.schoolRanges.isEmpty ? nil : holidays.schoolRanges.flatMap { [$0.first, $0.last] })
        fields.write(place.placerank)
        if case .point(let latitude, let longitude) = place.geometry {
            fields.write(latitude)
            fields.write(longitude)
        } else {
            fields.write(nil as Double?)
            fields.write(nil as Double?)
        }
        fields.write(OutlineBytes.encode(place.geometry))
        fields.write(place.owner)
        fields.write(place.revision)
    }

    public init(from fields: inout some FieldReader) throws(MalformedRow) {
        let (dataset, id, name) = (fields.text(), fields.text(), fields.optionalText())
        let categoryIDs = try fields.list()
        let (chainID, openingHours, timeZone) = (fields.optionalText(), fields.optionalText(), fields.optionalText())
        let holidays = try Holidays(from: &fields)
        let placerank = fields.optionalDouble()
        let (latitude, longitude) = (fields.double(), fields.double())
        var geometry = PlaceGeometry.point(latitude: latitude, longitude: longitude)
        if let bytes = fields.optionalBytes() {
            guard let outline = OutlineBytes.decode(bytes) else { throw MalformedRow() }
            geometry = outline
        }
        self.init(
            dataset: dataset,
            place: Place(
                id: id, name: name, categoryIDs: categoryIDs, chainID: chainID, openingHours: openingHours, timeZone: timeZone,
                holidays: holidays, placerank: placerank, geometry: geometry, owner: fields.optionalText(),
                revision: fields.optionalText()))
    }

    public var feedEntry: FeedEntry? {
        .object(type: .place, id: place.id, revision: place.revision ?? "", owner: place.owner, reader: nil)
    }
}

extension Holidays {
    fileprivate init(from fields: inout some FieldReader) throws(MalformedRow) {
        self = .none
        if let days = try fields.optionalList() { publicDays = days }
        guard let days = try fields.optionalList() else { return }
        guard days.count % 2 == 0 else { throw MalformedRow() }
        schoolRanges = stride(from: 0, to: days.count, by: 2).map { ClosedDays(first: days[$0], last: days[$0 + 1]) }
    }
}

extension VerificationRecord: DurableRecord {
    public static var kind: Kind { .verification }

    public func write(to fields: inout some FieldWriter) {
        fields.write(dataset)
        fields.write(placeID)
        fields.write(hour)
        fields.write(count)
    }

    public init(from fields: inout some FieldReader) {
        self.init(dataset: fields.text(), placeID: fields.text(), hour: fields.int(), count: fields.int())
    }
}

extension RecordKey {
    package static func category(dataset: String, id: String) -> Self { Self(.category, dataset, id) }
    package static func place(dataset: String, id: String) -> Self { Self(.place, dataset, id) }
}

extension DurableChange {
    /// Removes the place, and how often it was verified.
    package static func deletePlace(dataset: String, id: String) -> Self { .delete(.place(dataset: dataset, id: id)) }
}
