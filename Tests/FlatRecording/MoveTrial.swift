import Ranging

/// Clear moves between two gateways 8 m apart, at one reading a second of each, with 4 dB of noise: how often the room is right in time.
public struct MoveTrial {
    /// Of how many.
    public private(set) var right = 0
    public let moves: Int

    /// - Parameters:
    ///   - isSilent: A single clear reading of the new gateway is all that is heard of the move.
    ///   - seconds: After which the room has to be right.
    public init(
        moves: Int, isSilent: Bool, seconds: Int = 3, using random: inout some RandomNumberGenerator
    ) {
        self.moves = moves
        let observers = [0.0, 8].enumerated().map {
            PositionFilter.Observer(place: LocalPlane.Point(x: $1, y: 0), n: 2.7, room: $0)
        }
        for _ in 0..<moves {
            var filter = PositionFilter()
            var rooms = RoomTrack()
            var now: Int64 = 0
            func step(_ losses: [(Int, Double)], weight: Double = 1) {
                filter.step(losses.map { ($0, .loss($1)) }, among: observers, weight: weight, at: now)
                let candidates = filter.rooms.map {
                    RoomTrack.Candidate(room: $0.room, observer: UInt32($0.room), distance: 1, probability: $0.probability)
                }
                _ = rooms.take(candidates, stillness: filter.stillness, at: now)
                now += 1000
            }
            func noise() -> Double { (0..<4).reduce(0) { sum, _ in sum + Double.random(in: -3.5...3.5, using: &random) } }
            for _ in 0..<20 { step([(0, -5 + noise()), (1, 20 + noise())]) }
            for second in 0...seconds {
                if isSilent {
                    step([(1, -10)], weight: max(0, 1 - Double(second) * 1000 / Double(PositionFilter.fadeMilliseconds)))
                } else {
                    step([(0, 20 + noise()), (1, -5 + noise())])
                }
            }
            if rooms.room == 1 { right += 1 }
        }
    }
}
