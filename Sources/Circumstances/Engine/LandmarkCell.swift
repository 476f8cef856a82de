import Geodesy

/// A cell of ``Landmarks``.
struct LandmarkCell {
    let words: UnsafePointer<Int32>

    /// Metres beyond the reach of the scale in which all places are shown.
    var foresight: Double { Double(words[1]) }
    var first: Landmark { Landmark(words: words + 2) }
    var end: UnsafePointer<Int32> { words + 2 + Int(words[0]) }
}

/// A place that rules are about: x, y, z of its point, or of the middle of its outline, its number (complemented: it has an outline), the
/// only owner that asks for it, how many predicates it is shown for, and these.
struct Landmark {
    let words: UnsafePointer<Int32>

    static let head = 6

    @inline(__always) var point: GridPoint { GridPoint(x: words[0], y: words[1], z: words[2]) }
    @inline(__always) var hasOutline: Bool { words[3] < 0 }
    @inline(__always) var place: UInt32 { UInt32(bitPattern: words[3] < 0 ? ~words[3] : words[3]) }
    /// ``Landmarks/several`` where more than one do.
    @inline(__always) var owner: UInt32 { UInt32(bitPattern: words[4]) }
    @inline(__always) var count: Int { Int(words[5]) }
    @inline(__always) var next: Landmark { Landmark(words: words + (Self.head + count)) }

    @inline(__always)
    func predicate(_ index: Int) -> UInt32 { UInt32(bitPattern: words[Self.head + index]) }
}
