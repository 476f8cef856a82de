import Geodesy

/// A place that circumstances of one owner, or of all, name by its id.
struct NamedPlace: BitwiseCopyable, Equatable {
    /// Or the middle of the outline.
    let point: GridPoint
    /// Complemented: it has an outline.
    private let number: Int32
    /// The one that names it; where several do, the predicate of the id.
    private let subjectBits: UInt32
    /// In steps of the grid: so far from the point they can have to do with it, margins and the outline included. Complemented: several
    /// name it.
    private let reach: Int32

    init(_ place: UInt32, _ extent: PlaceExtent, reach: Double, _ subject: Subject) {
        point = GridPoint(latitude: extent.latitude, longitude: extent.longitude)
        let number = Int32(bitPattern: place)
        self.number = extent.radius > 0 ? ~number : number
        let steps = GridPoint.steps(extent.radius + reach)
        switch subject {
        case .one(let namer): (subjectBits, self.reach) = (namer.bits, steps)
        case .several(let predicate): (subjectBits, self.reach) = (predicate, ~steps)
        }
    }

    /// Who names it.
    enum Subject {
        case one(Namer)
        case several(predicate: UInt32)
    }

    @inline(__always) var subject: Subject { reach < 0 ? .several(predicate: subjectBits) : .one(Namer(bits: subjectBits)) }

    @inline(__always)
    var reachSteps: Double {
        let steps = reach < 0 ? ~reach : reach
        return steps == .max ? .infinity : Double(steps)
    }

    @inline(__always) var hasOutline: Bool { number < 0 }
    @inline(__always) var place: UInt32 { UInt32(bitPattern: number < 0 ? ~number : number) }
}

/// An active circumstance that names a place.
struct Namer: BitwiseCopyable, Equatable {
    fileprivate let bits: UInt32

    fileprivate init(bits: UInt32) { self.bits = bits }

    init(_ active: UInt32, isPrecondition: Bool) { bits = active << 1 | (isPrecondition ? 1 : 0) }

    @inline(__always) var active: UInt32 { bits >> 1 }
    /// Whether the circumstance may become true near it; else its value is only wanted.
    @inline(__always) var isPrecondition: Bool { bits & 1 != 0 }
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
