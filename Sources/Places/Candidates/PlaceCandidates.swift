/// At which places a device may be, the most probable first.
public struct PlaceCandidates: Equatable, Sendable {
    /// One place the device may be at.
    public struct Candidate: Equatable, Sendable {
        public var hit: PlaceTable.Hit
        public var threshold: Threshold
        /// As the evidence had it.
        public var isOpen: Bool?
        /// That the device is at this place and no other, 0…1.
        public var probability: Double

        public var handle: PlaceTable.Handle { hit.handle }
    }

    /// At most ``PlaceTable/candidatesMax``. Their probabilities, those of what was left out and ``probabilityOfNone`` are 1
    /// together.
    public var candidates: [Candidate]
    /// That it is at none of the known places.
    public var probabilityOfNone: Double
}

/// What is known of a place besides where it is, at the time that is asked about.
public struct PlaceEvidence: Equatable, Sendable {
    /// nil: not known.
    public var isOpen: Bool?
    /// How often it was verified that somebody was there; never negative.
    public var verifications: Double
    /// How many of these were within an hour and a half of this time of the week.
    public var verificationsAtThisHour: Double

    public static let none = PlaceEvidence()

    public init(isOpen: Bool? = nil, verifications: Double = 0, verificationsAtThisHour: Double = 0) {
        self.isOpen = isOpen
        self.verifications = verifications
        self.verificationsAtThisHour = verificationsAtThisHour
    }
}
