/// The order of the effects of one input: by subscription, then publication.
///
/// Effects are a hundred bytes and more, so what is sorted is their keys.
struct Ordering {
    private struct Place: BitwiseCopyable, Comparable {
        var key: UInt64
        var place: Int

        @inline(__always)
        static func < (a: Place, b: Place) -> Bool { a.key < b.key }
    }

    private var places = Scratch<Place>()

    func deallocate() { places.deallocate() }

    var bytes: Int { places.bytes }

    mutating func removeAll() { places.truncate(to: 0) }

    @inline(__always)
    mutating func append(_ subscription: UInt32, _ publication: UInt32) {
        places.append(Place(key: UInt64(subscription) << 32 | UInt64(publication), place: places.count))
    }

    /// Mostly they come in order.
    mutating func sort() {
        for place in 1..<max(1, places.count) where places[place] < places[place - 1] { return places.sort(from: 0) }
    }

    @inline(__always)
    subscript(number: Int) -> Int { places[number].place }
}
