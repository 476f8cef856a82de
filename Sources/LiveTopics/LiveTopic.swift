/// The seven levels that say what a piece of live data is about, decoded.
///
/// A level that does not apply is `-`. The domain is in lower case. Two topics are equal when their ids are the same
/// bytes: a broker keeps composed and decomposed characters apart, so Swift's canonical equivalence would join what
/// is two retained messages.
public struct LiveTopic: Sendable {
    public var dataset: String
    public var venue: String
    public var building: String
    public var floor: String
    public var room: String
    public var location: String
    public var domain: String

    /// The text of a level that does not apply.
    public static let notApplicable = "-"

    /// The names of the levels, in order.
    public static let levelNames = ["dataset", "venue", "building", "floor", "room", "location", "domain"]

    /// A topic from decoded ids, which the caller has checked (``Name``).
    ///
    /// An empty id becomes `-`, the domain lower case.
    public init(
        dataset: String, venue: String = "-", building: String = "-", floor: String = "-", room: String = "-",
        location: String = "-", domain: String
    ) {
        self.dataset = Self.present(dataset)
        self.venue = Self.present(venue)
        self.building = Self.present(building)
        self.floor = Self.present(floor)
        self.room = Self.present(room)
        self.location = Self.present(location)
        self.domain = Self.present(domain.lowercased())
    }

    /// What the live data is about: the location, or the last level before it that applies.
    public var itemID: String {
        for level in [location, room, floor, building, venue] where level != Self.notApplicable { return level }
        return dataset
    }

    private static func present(_ id: String) -> String {
        id.isEmpty ? notApplicable : id
    }
}

extension LiveTopic: Hashable {
    public static func == (left: LiveTopic, right: LiveTopic) -> Bool {
        // The levels that differ most often come first.
        left.location.utf8.elementsEqual(right.location.utf8) && left.domain.utf8.elementsEqual(right.domain.utf8)
            && left.room.utf8.elementsEqual(right.room.utf8) && left.floor.utf8.elementsEqual(right.floor.utf8)
            && left.building.utf8.elementsEqual(right.building.utf8)
            && left.venue.utf8.elementsEqual(right.venue.utf8)
            && left.dataset.utf8.elementsEqual(right.dataset.utf8)
    }

    public func hash(into hasher: inout Hasher) {
        for level in [dataset, venue, building, floor, room, location, domain] {
            var level = level
            level.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
            // A byte that is in no UTF-8 keeps `ab/c` and `a/bc` apart.
            hasher.combine(UInt8.max)
        }
    }
}
