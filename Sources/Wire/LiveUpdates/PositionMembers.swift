/// The members of a position payload, sorted by what they mean.
struct PositionMembers {
    /// The best value sent for one property, and the key it was sent with.
    struct Slot {
        private(set) var value: JSONNode?
        private(set) var name = PositionName.bbox

        /// Takes a value unless a key of higher precedence was there. The same key again counts as it was last,
        /// `null` as absent.
        @inline(__always)
        mutating func offer(_ offered: JSONNode, _ offeredName: PositionName) {
            if value != nil, offeredName.rawValue > name.rawValue { return }
            if offered.kind == .null {
                if offeredName == name { value = nil }
                return
            }
            value = offered
            name = offeredName
        }
    }

    var latitude = Slot()
    var longitude = Slot()
    var altitude = Slot()
    var horizontalAccuracy = Slot()
    var verticalAccuracy = Slot()
    var floorIndex = Slot()
    var speed = Slot()
    var course = Slot()
    var timestamp = Slot()
    var originSourceId = Slot()

    // Keys that mean something in one shape only and are unknown ones elsewhere.
    var ownTracksType: JSONNode?
    var velocity: JSONNode?
    var heading: JSONNode?
    var verticalAccuracyOfOwnTracks: JSONNode?
    var type: JSONNode?
    var geometry: JSONNode?
    var coordinates: JSONNode?
    var furtherProperties: JSONNode?

    /// Whether there is a key that is not one of the slots'.
    var hasExtras = false

    init(_ object: JSONNode) {
        for (key, value) in object.members {
            if let name = PositionName(key) { take(value, name) } else { hasExtras = true }
        }
    }

    /// Takes the properties of a GeoJSON Feature where the Feature itself does not have them.
    mutating func fill(from properties: JSONNode) {
        let further = PositionMembers(properties)
        for slot in Self.slots where self[keyPath: slot].value == nil { self[keyPath: slot] = further[keyPath: slot] }
        hasExtras = true
    }

    private static var slots: [WritableKeyPath<PositionMembers, Slot>] {
        [
            \.altitude, \.horizontalAccuracy, \.verticalAccuracy, \.floorIndex, \.speed, \.course, \.timestamp,
            \.originSourceId,
        ]
    }

    private mutating func take(_ value: JSONNode, _ name: PositionName) {
        switch name {
        case .latitude, .lat: latitude.offer(value, name)
        case .longitude, .lon, .lng, .long: longitude.offer(value, name)
        case .altitude, .alt: altitude.offer(value, name)
        case .horizontalAccuracy, .accuracy, .acc, .gpsAccuracy: horizontalAccuracy.offer(value, name)
        case .verticalAccuracy: verticalAccuracy.offer(value, name)
        case .floorIndex: floorIndex.offer(value, name)
        case .speed: speed.offer(value, name)
        case .course: course.offer(value, name)
        case .timestamp, .tst, .ts, .time: timestamp.offer(value, name)
        case .originSourceId: originSourceId.offer(value, name)
        default: takeShape(value, name)
        }
    }

    private mutating func takeShape(_ value: JSONNode, _ name: PositionName) {
        hasExtras = true
        switch name {
        case .ownTracksType: ownTracksType = value.kind == .null ? nil : value
        case .vel: velocity = value
        case .cog: heading = value
        case .vac: verticalAccuracyOfOwnTracks = value
        case .type: type = value
        case .geometry: geometry = value
        case .coordinates: coordinates = value
        case .properties: furtherProperties = value
        default: break
        }
    }
}
