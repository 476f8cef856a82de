import Circumstances
import Geodesy

/// A small world without any index: a few places round a square, hours by the minute, a clock that is set now and then.
final class TownWorld: CircumstanceWorld {
    struct Place {
        var id: String
        var latitude: Double
        var longitude: Double
        /// Metres round the point that count as inside; 0 for a point.
        var radius = 0.0
        var categories: [String] = []
        var chain: String?
        /// Minutes of the day it is open in; empty for hours that are not understood.
        var hours: [Range<Int>] = []
        var hasHours = false
        /// Minutes its clock is ahead of UTC.
        var offset = 0
    }

    var places: [UInt32: Place] = [:]
    var parents: [String: String] = [:]
    var occupancy: [UInt32: Double] = [:]
    /// Minutes the dataset's clock is ahead, by the instant from which.
    var offsets: [(from: Int64, minutes: Int)] = [(.min, 0)]

    /// A place without a radius is its grid point.
    func distance(_ place: Place, _ latitude: Double, _ longitude: Double) -> Double {
        guard place.radius == 0 else {
            return max(
                0,
                Geodesic.distance(
                    fromLatitude: place.latitude, fromLongitude: place.longitude, toLatitude: latitude, toLongitude: longitude)
                    - place.radius)
        }
        let point = GridPoint(latitude: place.latitude, longitude: place.longitude)
        let step = 1 / GridPoint.unitsPerMetre
        let exact = ECEF(x: Double(point.x) * step, y: Double(point.y) * step, z: Double(point.z) * step)
        return Geodesic.arc(ofChord: exact.squaredChord(to: ECEF(latitude: latitude, longitude: longitude)).squareRoot())
    }

    func distance(of place: UInt32, latitude: Double, longitude: Double) -> Double? {
        places[place].map { distance($0, latitude, longitude) }
    }

    func places(latitude: Double, longitude: Double, radius: Double, into found: inout [NearbyPlace]) {
        // As the table of places does.
        let radius = min(radius, 20_000)
        for (number, place) in places {
            let distance = distance(place, latitude, longitude)
            if distance <= radius { found.append(NearbyPlace(place: number, distance: distance)) }
        }
    }

    func threshold(of number: UInt32, distance: Double, accuracy: Double?) -> ThresholdLevel {
        guard let place = places[number] else { return .none }
        let isClose = place.radius > 0 ? distance == 0 : distance <= 20
        let hasRival = places.contains { other, rival in
            other != number
                && self.distance(rival, place.latitude, place.longitude) - place.radius <= 15
        }
        if isClose, accuracy ?? 0 <= 25, !hasRival { return .high }
        return distance <= PlaceReach.at(accuracy: accuracy) ? .low : .none
    }

    func facts(of number: UInt32) -> PlaceFacts {
        guard let place = places[number] else { return PlaceFacts(id: "") }
        var ancestors: [String] = []
        for category in place.categories {
            var above = parents[category]
            while let next = above, ancestors.count < 10 {
                ancestors.append(next)
                above = parents[next]
            }
        }
        return PlaceFacts(id: place.id, chainID: place.chain, categoryIDs: place.categories, ancestorIDs: ancestors)
    }

    func place(withID id: String) -> UInt32? { places.first { $0.value.id == id }?.key }

    func isKnown(_ key: IdentityKey, _ id: String) -> Bool {
        switch key {
        case .place: place(withID: id) != nil
        case .category, .exactCategory:
            parents.contains { $0.key == id || $0.value == id } || places.values.contains { $0.categories.contains(id) }
        case .chain: places.values.contains { $0.chain == id }
        }
    }

    func extent(of number: UInt32) -> PlaceExtent {
        guard let place = places[number] else { return PlaceExtent(latitude: 0, longitude: 0) }
        return PlaceExtent(latitude: place.latitude, longitude: place.longitude, radius: place.radius)
    }

    func opening(of number: UInt32, at instant: Int64) -> Opening {
        guard let place = places[number], place.hasHours, !place.hours.isEmpty else {
            return Opening(isOpen: .unknown, until: .max)
        }
        let minute = clock(of: number, at: instant)
        let isOpen = place.hours.contains { $0.contains(minute.minuteOfDay) }
        // As far as a minute ahead at most: what is not asked again in time is found out.
        let bounds = place.hours.flatMap { [$0.lowerBound, $0.upperBound] } + [1440]
        let next = bounds.filter { $0 > minute.minuteOfDay }.min() ?? 1440
        return Opening(
            isOpen: isOpen ? .true : .false, until: instant - minute.millisecond + Int64(next - minute.minuteOfDay) * 60_000)
    }

    func hasOpeningHours(_ number: UInt32) -> Bool { places[number]?.hasHours ?? false }

    func clock(of number: UInt32?, at instant: Int64) -> LocalClock {
        let offset = number.flatMap { places[$0]?.offset }
        let minutes = offset ?? offsets.last { $0.from <= instant }!.minutes
        let local = instant + Int64(minutes) * 60_000
        let minute = local / 60_000
        let until = offset == nil ? offsets.first { $0.from > instant }?.from ?? .max : .max
        return LocalClock(
            dayOfWeek: Int((minute / 1440 + 3) % 7) + 1, minuteOfDay: Int(minute % 1440), millisecond: local % 60_000,
            until: until)
    }

    func live(device: UInt32, domain: String, property: String, for owner: String) -> LiveRule.Value? {
        domain == "occupancy" && property == "nrOfPeople" ? occupancy[device].map { .number($0) } : nil
    }
}
