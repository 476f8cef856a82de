/// The keys that mean something in a position.
///
/// The order within a property is the precedence: where several are sent, the first counts. The units that belong to
/// a shape (OwnTracks' km/h) are known by the key.
enum PositionName: UInt8 {
    case latitude, lat
    case longitude, lon, lng, long
    case altitude, alt
    case horizontalAccuracy, accuracy, acc, gpsAccuracy
    case verticalAccuracy, vac
    case floorIndex
    case speed, vel
    case course, cog
    case timestamp, tst, ts, time
    case originSourceId
    /// What names the shape.
    case ownTracksType, type, geometry, coordinates, properties, bbox

    /// The key as written in a payload.
    var key: String {
        switch self {
        case .gpsAccuracy: "gps_accuracy"
        case .ownTracksType: "_type"
        default: "\(self)"
        }
    }

    @inline(__always)
    init?(_ key: JSONNode) {
        let bytes = key.utf8
        guard let found = Self.find(key, length: bytes.count) else { return nil }
        self = found
    }

    private static func find(_ key: JSONNode, length: Int) -> PositionName? {
        switch length {
        case 2: key.isEqual(to: "ts") ? .ts : nil
        case 3: findShort(key)
        case 4:
            if key.isEqual(to: "long") {
                .long
            } else if key.isEqual(to: "time") {
                .time
            } else if key.isEqual(to: "type") {
                .type
            } else if key.isEqual(to: "bbox") {
                .bbox
            } else {
                nil
            }
        case 5: key.isEqual(to: "speed") ? .speed : key.isEqual(to: "_type") ? .ownTracksType : nil
        case 6: key.isEqual(to: "course") ? .course : nil
        default: findLong(key, length: length)
        }
    }

    private static func findShort(_ key: JSONNode) -> PositionName? {
        if key.isEqual(to: "lat") { return .lat }
        if key.isEqual(to: "lon") { return .lon }
        if key.isEqual(to: "tst") { return .tst }
        if key.isEqual(to: "acc") { return .acc }
        if key.isEqual(to: "alt") { return .alt }
        if key.isEqual(to: "lng") { return .lng }
        if key.isEqual(to: "vel") { return .vel }
        if key.isEqual(to: "cog") { return .cog }
        return key.isEqual(to: "vac") ? .vac : nil
    }

    private static func findLong(_ key: JSONNode, length: Int) -> PositionName? {
        switch length {
        case 8:
            if key.isEqual(to: "latitude") { return .latitude }
            if key.isEqual(to: "altitude") { return .altitude }
            if key.isEqual(to: "accuracy") { return .accuracy }
            return key.isEqual(to: "geometry") ? .geometry : nil
        case 9:
            if key.isEqual(to: "longitude") { return .longitude }
            return key.isEqual(to: "timestamp") ? .timestamp : nil
        case 10:
            if key.isEqual(to: "floorIndex") { return .floorIndex }
            return key.isEqual(to: "properties") ? .properties : nil
        case 11: return key.isEqual(to: "coordinates") ? .coordinates : nil
        case 12: return key.isEqual(to: "gps_accuracy") ? .gpsAccuracy : nil
        case 14: return key.isEqual(to: "originSourceId") ? .originSourceId : nil
        case 16: return key.isEqual(to: "verticalAccuracy") ? .verticalAccuracy : nil
        case 18: return key.isEqual(to: "horizontalAccuracy") ? .horizontalAccuracy : nil
        default: return nil
        }
    }
}
