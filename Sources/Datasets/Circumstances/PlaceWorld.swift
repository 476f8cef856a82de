import Circumstances
import LiveTopics
import OpeningHours
import Places
import Wire
import Records

/// What the circumstances of a dataset are about: its places, their hours, its live data.
struct PlaceWorld: CircumstanceWorld {
    let book: CircumstanceBook

    private var table: PlaceTable { book.places.table }

    func places(latitude: Double, longitude: Double, radius: Double, into places: inout [NearbyPlace]) {
        table.near(latitude: latitude, longitude: longitude, radius: radius) { hit in
            places.append(NearbyPlace(place: hit.handle, distance: hit.distance))
        }
    }

    func distance(of place: UInt32, latitude: Double, longitude: Double) -> Double? {
        table.hit(place, latitude: latitude, longitude: longitude)?.distance
    }

    func threshold(of place: UInt32, distance: Double, accuracy: Double?) -> ThresholdLevel {
        let isInside = distance == 0 && table.isPolygon(place)
        switch table.threshold(PlaceTable.Hit(handle: place, distance: distance, isInside: isInside), accuracy: accuracy) {
        case .none: return .none
        case .low: return .low
        case .high: return .high
        }
    }

    func facts(of place: UInt32) -> PlaceFacts {
        let categories = table.categoryIDs(place)
        return PlaceFacts(
            id: table.id(place), chainID: table.chainID(place), categoryIDs: categories,
            ancestorIDs: categories.flatMap(ancestors))
    }

    /// Those above a category, declared or only named.
    private func ancestors(of category: String) -> [String] {
        var above: [String] = []
        var next = table.categories[category]?.parentID
        // There are no cycles.
        while let id = next {
            above.append(id)
            next = table.categories[id]?.parentID
        }
        return above
    }

    func place(withID id: String) -> UInt32? { table.handle(of: id) }

    func isKnown(_ key: IdentityKey, _ id: String) -> Bool {
        switch key {
        case .place: table.handle(of: id) != nil
        case .category, .exactCategory: table.categories.number(id) != nil
        case .chain: table.chain(id) != nil
        }
    }

    func extent(of place: UInt32) -> PlaceExtent {
        let extent = table.extent(of: place)
        return PlaceExtent(latitude: extent.latitude, longitude: extent.longitude, radius: extent.radius)
    }

    func opening(of place: UInt32, at instant: Int64) -> Opening {
        guard let reading = book.places.reading(of: place), let hours = reading.hours else {
            return Opening(isOpen: .unknown, until: .max)
        }
        let point = table.point(of: place)
        let context = reading.context(latitude: point.latitude, longitude: point.longitude)
        let truth: Truth =
            switch hours.state(at: instant, in: context) {
            case .open: .true
            case .closed: .false
            case .unknown: .unknown
            }
        // Where nothing changes for as long as is looked ahead, it is looked again then.
        let horizon = hours.isConstant ? .max : instant + Int64(OpeningHours.searchDays) * 86_400_000
        return Opening(isOpen: truth, until: hours.nextChange(after: instant, in: context) ?? horizon)
    }

    func hasOpeningHours(_ place: UInt32) -> Bool { book.places.reading(of: place) != nil }

    func clock(of place: UInt32?, at instant: Int64) -> LocalClock {
        let zone = place.map { book.places.zone(of: $0) } ?? book.places.hours.defaultZone
        let time = zone.local(at: instant)
        let millisecond = ((instant + Int64(zone.offset(at: instant)) * 1000) % 60_000 + 60_000) % 60_000
        return LocalClock(
            dayOfWeek: time.weekday + 1, minuteOfDay: time.minute, millisecond: millisecond,
            until: zone.transition(after: instant) ?? .max)
    }

    /// Of the device's own topics first, then of the room it is in.
    func live(device: UInt32, domain: String, property: String, for owner: String) -> LiveRule.Value? {
        guard let device = book.devices[device] else { return nil }
        // Comparisons would find out where somebody is.
        if KnownDomain.isWhereabouts(domain), !book.devices.mayLocate(device, by: owner) { return nil }
        for topic in topics(of: device, domain: domain) {
            book.note(device.reference.index, asksFor: topic)
            guard let payload = book.shared.liveStates[topic]?.payload,
                let value = LiveMessage.property(property, inPayload: payload, using: book.shared.parser)
            else { continue }
            switch value {
            case .string(let text): return .text(text)
            case .bool(let flag): return .flag(flag)
            case .null: return .nothing
            default: return value.asDouble.map { .number($0) }
            }
        }
        return nil
    }

    private func topics(of device: Device, domain: String) -> [String] {
        guard let state = device.positionTopic, var live = try? LiveTopic(encoded: state.topic) else { return [] }
        live.domain = domain
        var topics = [live]
        let none = LiveTopic.notApplicable
        topics.append(
            LiveTopic(
                dataset: book.dataset, venue: none, building: none, floor: none, room: none, location: device.record.id,
                domain: domain))
        live.location = none
        if live.room != none { topics.append(live) }
        if let room = book.structure.whereabouts(of: state), room.room != nil {
            topics.append(
                LiveTopic(
                    dataset: book.dataset, venue: room.levels[0], building: room.levels[1], floor: room.levels[2],
                    room: room.levels[3], location: none, domain: domain))
        }
        var encoded: [String] = []
        for topic in topics where !encoded.contains(where: { $0.hasSameBytes(as: topic.encoded) }) {
            encoded.append(topic.encoded)
        }
        return encoded
    }
}
