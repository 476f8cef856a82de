import Geodesy

/// A place that a circumstance names by its id.
struct NamedPlace: BitwiseCopyable {
    /// Or the middle of the outline.
    let point: GridPoint
    /// Complemented: it has an outline.
    private let number: Int32
    private let activeAndRole: UInt32
    /// In steps of the grid: so far from the point the circumstance can have to do with it, its margin and the outline included.
    private let reach: Int32

    /// - Parameter reach: Metres, of the circumstance.
    init(_ place: UInt32, _ extent: PlaceExtent, _ naming: Naming, of active: UInt32) {
        point = GridPoint(latitude: extent.latitude, longitude: extent.longitude)
        let number = Int32(bitPattern: place)
        self.number = extent.radius > 0 ? ~number : number
        activeAndRole = active << 1 | (naming.isPrecondition ? 1 : 0)
        reach = GridPoint.steps(extent.radius + naming.reach)
    }

    @inline(__always) var reachSteps: Double { reach == .max ? .infinity : Double(reach) }

    @inline(__always) var hasOutline: Bool { number < 0 }
    @inline(__always) var place: UInt32 { UInt32(bitPattern: number < 0 ? ~number : number) }
    @inline(__always) var active: UInt32 { activeAndRole >> 1 }
    /// Whether the circumstance may become true near it; else its value is only wanted.
    @inline(__always) var isPrecondition: Bool { activeAndRole & 1 != 0 }
}

/// That a circumstance names places by an id.
struct Naming {
    /// That of the id.
    var predicate: UInt32
    /// Metres, the margin included.
    var reach: Double
    var isPrecondition: Bool
}

extension GridPoint {
    /// A radius in metres, rounded up; those larger than a continent's are the largest there is.
    static func steps(_ radius: Double) -> Int32 { Int32(exactly: (radius * unitsPerMetre).rounded(.up)) ?? .max }
}
