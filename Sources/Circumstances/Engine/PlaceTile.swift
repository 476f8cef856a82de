import Geodesy

/// A cell of ``PlaceTiles``: where each part ends (in words from the beginning), then the ``TilePlace``s part by part.
struct PlaceTile {
    let words: UnsafePointer<Int32>

    /// Parts by owner, and the last one for what several owners ask for: so a client's device passes over the others' at a glance.
    static let parts = 9
    static let head = parts

    static func part(of owner: UInt32) -> Int { owner == PlaceTiles.several ? parts - 1 : Int(owner) % (parts - 1) }

    /// In words.
    var length: Int { Int(words[Self.parts - 1]) }
    var all: TilePlaces { TilePlaces(first: words + Self.head, end: words + length) }

    @inline(__always)
    subscript(part: Int) -> TilePlaces {
        TilePlaces(first: words + (part == 0 ? Self.head : Int(words[part - 1])), end: words + Int(words[part]))
    }
}

/// ``TilePlace``s that stand one after the other.
struct TilePlaces {
    var first: UnsafePointer<Int32>
    let end: UnsafePointer<Int32>

    @inline(__always)
    mutating func next() -> TilePlace? {
        guard first < end else { return nil }
        let tilePlace = TilePlace(words: first)
        first += TilePlace.head + tilePlace.count
        return tilePlace
    }
}

/// A place that rules are about: x, y, z of its point, or of the middle of its outline, its number (complemented: it has an outline), the
/// only owner that asks for it, how far the outline reaches in steps of the grid, how many predicates it is shown for, and these.
struct TilePlace {
    let words: UnsafePointer<Int32>

    static let head = 7

    @inline(__always) var point: GridPoint { GridPoint(x: words[0], y: words[1], z: words[2]) }
    @inline(__always) var hasOutline: Bool { words[3] < 0 }
    @inline(__always) var place: UInt32 { UInt32(bitPattern: words[3] < 0 ? ~words[3] : words[3]) }
    /// ``PlaceTiles/several`` where more than one do.
    @inline(__always) var owner: UInt32 { UInt32(bitPattern: words[4]) }
    @inline(__always) var radius: Double { words[5] == .max ? .infinity : Double(words[5]) }
    @inline(__always) var count: Int { Int(words[6]) }

    /// A radius in metres as it is kept: larger ones than a continent's have no end.
    static func steps(_ radius: Double) -> Int32 { Int32(exactly: (radius * GridPoint.unitsPerMetre).rounded(.up)) ?? .max }

    @inline(__always)
    func predicate(_ index: Int) -> UInt32 { UInt32(bitPattern: words[Self.head + index]) }
}
