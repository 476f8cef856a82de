import Geodesy

/// A cell of ``PlaceTiles``: how many words and how many places it has, for each place a head, then the facts of each.
///
/// Most places of a cell are too far from a device: heads lie together, so that these are passed over quickly.
struct PlaceTile {
    let words: UnsafePointer<Int32>

    static let start = 2

    /// In words.
    var length: Int { Int(words[0]) }
    var count: Int { Int(words[1]) }

    @inline(__always)
    subscript(index: Int) -> TilePlace {
        TilePlace(head: words + Self.start + TilePlace.headLength * index, tile: words)
    }
}

/// A place that rules are about. Its head: x, y, z of its point, or of the middle of its outline, how far that reaches in steps of the grid,
/// and where in the tile its facts are: its number (complemented: it has an outline), how many predicates it is shown for, and these.
struct TilePlace {
    let head: UnsafePointer<Int32>
    let tile: UnsafePointer<Int32>

    static let headLength = 5
    static let factsLength = 2

    @inline(__always) private var facts: UnsafePointer<Int32> { tile + Int(head[4]) }
    @inline(__always) var point: GridPoint { GridPoint(x: head[0], y: head[1], z: head[2]) }
    @inline(__always) var radius: Double { head[3] == .max ? .infinity : Double(head[3]) }
    @inline(__always) var hasOutline: Bool { facts[0] < 0 }
    @inline(__always) var place: UInt32 { UInt32(bitPattern: facts[0] < 0 ? ~facts[0] : facts[0]) }
    @inline(__always) var count: Int { Int(facts[1]) }

    @inline(__always)
    func predicate(_ index: Int) -> UInt32 { UInt32(bitPattern: facts[Self.factsLength + index]) }
}
