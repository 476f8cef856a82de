/// How far a rule looks, in steps: what looks farther has larger cells, and does not make the others look farther.
enum Scale {
    static let count = 7

    /// Metres, margins included, up to which a rule belongs to each.
    private static let reaches = [110.0, 260, 520, 1040, 2080, 4160, 6000]
    /// The shifts of its cells in the ``SurfaceGrid``: 360 m and more.
    private static let shifts: [Int32] = [15, 15, 16, 17, 18, 18, 18]

    /// That of a rule that reaches so far.
    static func of(reach: Double) -> Int { reaches.firstIndex { reach <= $0 } ?? count - 1 }

    static func reach(_ scale: Int) -> Double { reaches[scale] }
    static func shift(_ scale: Int) -> Int32 { shifts[scale] }
}
