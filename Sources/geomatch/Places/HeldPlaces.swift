import Wire

/// Places that wait for the end of the input, because what comes may say more about them.
struct HeldPlaces {
    private var places: [(place: OSMPlace, bytes: Int)?] = []
    private var first = 0
    /// Where the place of an id waits, by the text of the id.
    private var indices: [[UInt8]: Int] = [:]
    private var bytes = 0

    /// Beyond so many bytes of input the oldest goes on with what is known.
    private static let bytesMax = 64 << 20

    var isFull: Bool { bytes > Self.bytesMax }

    /// - Parameter bytes: How long it was in the input.
    mutating func append(_ place: OSMPlace, bytes: Int) {
        if let id = place.id?.serialised() { indices[id] = places.count }
        places.append((place, bytes))
        self.bytes += bytes
    }

    /// Lets go of the place that has this id: a later one counts.
    mutating func drop(_ id: JSONValue?) {
        guard !indices.isEmpty, let id, let index = indices.removeValue(forKey: id.serialised()) else { return }
        bytes -= places[index]?.bytes ?? 0
        places[index] = nil
    }

    mutating func popFirst() -> OSMPlace? {
        while first < places.count {
            let next = places[first]
            places[first] = nil
            first += 1
            guard let next else { continue }
            if let id = next.place.id { indices[id.serialised()] = nil }
            bytes -= next.bytes
            return next.place
        }
        places.removeAll()
        indices.removeAll()
        first = 0
        return nil
    }
}
