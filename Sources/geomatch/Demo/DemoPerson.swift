/// Somebody who works in the building for a day.
struct DemoPerson {
    enum Place: Equatable {
        case desk
        /// Into the building's rooms.
        case room(Int)
        case outside
    }

    /// Where to go, and when.
    struct Plan: Equatable {
        /// Seconds since the beginning of the day.
        var at: Int
        var place: Place
    }

    /// A step of a way: in a straight line, or up and down the stairs.
    struct Step: Equatable {
        var point: DemoBuilding.Point
        /// The room it leads through.
        var room: Int
        /// Seconds to wait before it.
        var pause = 0
    }

    var id: String
    /// In the order of time.
    var plans: ArraySlice<Plan>
    /// Metres a second.
    var pace: Double
    /// The desk of the day: a room of the building, and which of its desks; nil where none was free.
    var desk: (room: Int, number: Int)?

    /// Where they are; nil outside.
    var room: Int?
    var point = DemoBuilding.Point(x: 0, y: 0)
    var way: ArraySlice<Step> = []
    var waitsUntil = 0
    /// What the way leads to.
    var goal = Place.outside
    var sitsAtDesk = false
    /// When the next position is published.
    var publishesAt = 0

    /// Walks for a second.
    ///
    /// - Returns: Whether another room was entered.
    mutating func walk(at second: Int) -> Bool {
        let before = room
        var metres = pace
        while metres > 0, second >= waitsUntil, let step = way.first {
            if step.pause > 0 {
                waitsUntil = second + step.pause
                way[way.startIndex].pause = 0
                break
            }
            let (east, north) = (step.point.x - point.x, step.point.y - point.y)
            let distance = (east * east + north * north).squareRoot()
            room = step.room
            if distance <= metres {
                point = step.point
                metres -= distance
                way.removeFirst()
            } else {
                point.x += east / distance * metres
                point.y += north / distance * metres
                metres = 0
            }
            // One room a second, so that everyone is seen in each room of the way.
            if room != before { break }
        }
        return room != before
    }
}

extension DemoBuilding {
    /// From where somebody is to a point in a room: through doors, along corridors, by the stairs.
    func way(from start: Int, to end: Int, _ point: Point) -> ArraySlice<DemoPerson.Step> {
        guard start != end else { return [DemoPerson.Step(point: point, room: end)] }
        var steps: [DemoPerson.Step] = []
        var here = start
        if rooms[start].floor != rooms[end].floor {
            let (lower, upper) = (stairs[rooms[start].floor], stairs[rooms[end].floor])
            steps += passage(from: here, to: lower, rooms[lower].centre)
            let seconds = 15 * abs(rooms[start].floor - rooms[end].floor)
            steps.append(DemoPerson.Step(point: rooms[upper].centre, room: upper, pause: seconds))
            here = upper
        }
        return (steps + passage(from: here, to: end, point))[...]
    }

    /// The same on one floor.
    private func passage(from start: Int, to end: Int, _ point: Point) -> [DemoPerson.Step] {
        let corridor = corridors[rooms[start].floor]
        var steps: [DemoPerson.Step] = []
        if start != corridor, start != end {
            steps.append(DemoPerson.Step(point: doorway(start), room: start))
            steps.append(DemoPerson.Step(point: Point(x: rooms[start].door, y: Self.axis), room: corridor))
        }
        if end != corridor, start != end {
            steps.append(DemoPerson.Step(point: Point(x: rooms[end].door, y: Self.axis), room: corridor))
            steps.append(DemoPerson.Step(point: doorway(end), room: corridor))
        }
        steps.append(DemoPerson.Step(point: point, room: end))
        return steps
    }

    func doorway(_ room: Int) -> Point {
        Point(x: rooms[room].door, y: rooms[room].south >= Self.corridorNorth ? Self.corridorNorth : Self.corridorSouth)
    }

    /// The way out into the street.
    var entrance: Point { Point(x: rooms[lobby].door, y: 0) }
}
