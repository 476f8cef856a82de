import Foundation
import Wire

/// A day of a building as a value: time in, updates out, the same for the same seed.
///
/// People come in the morning, sit down at desks that are free, meet, eat at noon and go home. Sensors report desks and rooms;
/// one falls silent in the middle of the day, and one flaps.
struct DemoDay {
    struct Update: Equatable {
        /// The levels below the dataset, decoded.
        var levels: [String]
        /// Nil clears the state.
        var properties: JSONObject?
    }

    /// What the day was like, for people.
    struct Figures: Equatable {
        var updates = 0
        var people = 0
        var mostInside = 0
        var flaps = 0
        /// Updates the dead sensor would have sent.
        var silences = 0
    }

    /// The first hour of the day.
    static let firstHour = 8
    /// A usual one, in hours.
    static let usualHours = 11.0

    let building: DemoBuilding
    let seconds: Int
    private(set) var second = 0
    private(set) var figures = Figures()
    private(set) var people: [DemoPerson] = []

    private var random: DemoRandom
    private var updates: [Update] = []
    private var takenDesks: [[Bool]]
    private var occupants: [Int]
    private var publishedOccupants: [Int?]
    private var co2: [Double]
    private var isInside = 0
    /// The room whose CO₂ sensor dies, and when.
    private let dead: (room: Int, at: Int)
    /// The desk whose sensor flaps, and when.
    private let flapping: (room: Int, desk: Int, seconds: Range<Int>)

    /// - Parameters:
    ///   - people: At least 0.
    ///   - floors: At least 1.
    ///   - hours: How much of the day from 8 in the morning; a short day is the same one in less time.
    init(people: Int, floors: Int, hours: Double = Self.usualHours, seed: UInt64) {
        building = DemoBuilding(floors: floors)
        seconds = Int(hours * 3600)
        random = DemoRandom(seed: seed)
        let rooms = building.rooms
        takenDesks = rooms.map { Array(repeating: false, count: $0.desks.count) }
        occupants = Array(repeating: 0, count: rooms.count)
        publishedOccupants = Array(repeating: nil, count: rooms.count)
        co2 = Array(repeating: 430, count: rooms.count)
        let offices = rooms.indices.filter { rooms[$0].kind == .office }
        dead = (offices[random.below(offices.count)], seconds / 2)
        flapping = (offices[random.below(offices.count)], random.below(6), seconds / 4..<seconds * 3 / 4)
        for number in 0..<people { self.people.append(person(number)) }
        figures.people = people
    }

    /// `13:30`, of the simulated day.
    var clock: String { Self.clock(second) }

    static func clock(_ second: Int) -> String {
        let minutes = firstHour * 60 + second / 60
        let padded = { (number: Int) in (number < 10 ? "0" : "") + "\(number)" }
        return "\(padded(minutes / 60 % 24)):\(padded(minutes % 60))"
    }

    /// The sensors that misbehave, for people.
    var faults: String {
        let silent = building.rooms[dead.room]
        let flapper = building.rooms[flapping.room]
        return "co2 of \(silent.floor)/\(silent.id) fell silent at \(Self.clock(dead.at)), "
            + "\(flapper.floor)/\(flapper.id)/\(DemoBuilding.deskID(flapping.desk)) flapped \(figures.flaps) times"
    }

    /// Goes on by a second.
    ///
    /// - Returns: What is published in it, in order; nothing after the end of the day.
    mutating func next() -> [Update] {
        guard !isOver else { return [] }
        updates.removeAll(keepingCapacity: true)
        if second == 0 { publishAllDesks() }
        for index in people.indices { move(index) }
        for room in building.rooms.indices { publishRoom(room) }
        flap()
        second += 1
        figures.updates += updates.count
        figures.mostInside = max(figures.mostInside, isInside)
        return updates
    }

    // MARK: Plans

    /// A day's plans, in parts of a usual day.
    private mutating func person(_ number: Int) -> DemoPerson {
        let hour = Double(seconds) / Self.usualHours
        let meetings = building.rooms.indices.filter { building.rooms[$0].kind == .meeting }
        var hours: [(Double, DemoPerson.Place)] = [(number == 0 ? 0 : random.unit() * 1.5, .desk)]
        for start in [1.75, 6.25] where random.unit() < 0.6 {
            let at = start + random.unit()
            hours += [(at, .room(meetings[random.below(meetings.count)])), (at + 0.5 + random.unit() * 0.5, .desk)]
        }
        let lunch = 4 + random.unit()
        hours += [(lunch, .room(building.canteen)), (lunch + 0.5 + random.unit() * 0.4, .desk)]
        // The doors are locked before the day is over: who goes has time to get there.
        hours.append((8.3 + random.unit() * 2, .outside))
        let plans = hours.sorted { $0.0 < $1.0 }.map { DemoPerson.Plan(at: Int($0.0 * hour), place: $0.1) }
        return DemoPerson(id: "person\(number + 1)", plans: plans[...], pace: 1.1 + random.unit() * 0.5)
    }

    // MARK: People

    private mutating func move(_ index: Int) {
        if let plan = people[index].plans.first, plan.at <= second {
            people[index].plans.removeFirst()
            begin(plan.place, index)
        }
        guard let before = people[index].room else { return }
        let isWalking = !people[index].way.isEmpty
        var isDue = second >= people[index].publishesAt
        if isWalking, people[index].walk(at: second), let room = people[index].room {
            occupants[before] -= 1
            occupants[room] += 1
            isDue = true
        }
        if isWalking, people[index].way.isEmpty, arrive(index) { return }
        guard isDue else { return }
        people[index].publishesAt = second + (people[index].way.isEmpty ? 60 : 2)
        publishPosition(index, isWalking: isWalking)
    }

    private mutating func begin(_ place: DemoPerson.Place, _ index: Int) {
        if people[index].room == nil {
            guard place != .outside else { return }
            enter(index)
        }
        guard let room = people[index].room else { return }
        stand(index)
        people[index].goal = place
        switch place {
        case .desk:
            guard let desk = people[index].desk else {
                return people[index].way = building.way(from: room, to: building.canteen, somewhere(in: building.canteen))
            }
            people[index].way = building.way(from: room, to: desk.room, building.rooms[desk.room].desks[desk.number])
        case .room(let goal): people[index].way = building.way(from: room, to: goal, somewhere(in: goal))
        case .outside: people[index].way = building.way(from: room, to: building.lobby, building.entrance)
        }
    }

    private mutating func enter(_ index: Int) {
        people[index].room = building.lobby
        people[index].point = building.entrance
        people[index].publishesAt = second
        occupants[building.lobby] += 1
        isInside += 1
        let free = takenDesks.indices.flatMap { room in
            takenDesks[room].indices.filter { !takenDesks[room][$0] }.map { (room: room, number: $0) }
        }
        guard !free.isEmpty else { return }
        let desk = free[random.below(free.count)]
        takenDesks[desk.room][desk.number] = true
        people[index].desk = desk
    }

    /// - Returns: Whether they are gone.
    private mutating func arrive(_ index: Int) -> Bool {
        switch people[index].goal {
        case .outside:
            if let room = people[index].room {
                occupants[room] -= 1
                updates.append(Update(levels: levels(room, people[index].id, "position"), properties: nil))
            }
            if let desk = people[index].desk { takenDesks[desk.room][desk.number] = false }
            (people[index].room, people[index].desk) = (nil, nil)
            isInside -= 1
            return true
        case .desk:
            guard let desk = people[index].desk else { return false }
            people[index].sitsAtDesk = true
            publishDesk(desk.room, desk.number, isFree: false)
        case .room: break
        }
        return false
    }

    /// Stands up, where they sat.
    private mutating func stand(_ index: Int) {
        guard people[index].sitsAtDesk, let desk = people[index].desk else { return }
        people[index].sitsAtDesk = false
        publishDesk(desk.room, desk.number, isFree: true)
    }

    private mutating func somewhere(in room: Int) -> DemoBuilding.Point {
        let room = building.rooms[room]
        return DemoBuilding.Point(
            x: room.west + 0.5 + random.unit() * (room.east - room.west - 1),
            y: room.south + 0.5 + random.unit() * (room.north - room.south - 1))
    }

    private mutating func publishPosition(_ index: Int, isWalking: Bool) {
        guard let room = people[index].room else { return }
        let accuracy = 1 + (random.unit() * 40).rounded() / 10
        // Measured within the accuracy of where they are.
        let (angle, metres) = (random.unit() * 2 * Double.pi, accuracy * random.unit() * 0.9)
        var point = people[index].point
        point.x += cos(angle) * metres
        point.y += sin(angle) * metres
        let position = DemoBuilding.position(point)
        let properties: JSONObject = [
            "latitude": .double(position.latitude), "longitude": .double(position.longitude),
            "horizontalAccuracy": .double(accuracy), "floorIndex": .integer(Int64(building.rooms[room].floor)),
            "speed": .double(isWalking ? (people[index].pace * 10).rounded() / 10 : 0),
        ]
        updates.append(Update(levels: levels(room, people[index].id, "position"), properties: properties))
    }

    // MARK: Sensors

    private mutating func publishAllDesks() {
        for room in building.rooms.indices {
            for desk in building.rooms[room].desks.indices { publishDesk(room, desk, isFree: true) }
        }
    }

    private mutating func publishDesk(_ room: Int, _ desk: Int, isFree: Bool) {
        updates.append(
            Update(levels: levels(room, DemoBuilding.deskID(desk), "availability"), properties: ["available": .bool(isFree)]))
    }

    private mutating func flap() {
        guard flapping.seconds.contains(second), second % 3 == 0 else { return }
        figures.flaps += 1
        publishDesk(flapping.room, flapping.desk, isFree: second % 2 == 0)
    }

    /// Occupancy when it changed and each ten minutes, the climate each five; every room at another second.
    private mutating func publishRoom(_ index: Int) {
        let room = building.rooms[index]
        guard room.capacity > 0 else { return }
        let people = occupants[index]
        if (second + index) % 5 == 0, publishedOccupants[index] != people || (second + index) % 600 == 0 {
            publishedOccupants[index] = people
            publish(index, "occupancy", ["nrOfPeople": .integer(Int64(people)), "capacity": .integer(Int64(room.capacity))])
        }
        if (second + index) % 60 == 0 {
            // A minute of a ventilated room: each person adds 4 ppm in one of 50 m², and a twentieth of what is above the air
            // outside leaves.
            let added = 200 / ((room.east - room.west) * (room.north - room.south)) * Double(people)
            co2[index] += added - (co2[index] - 420) / 20
        }
        guard (second + index) % 300 == 0 else { return }
        let noon = sin(Double(second) / Double(max(1, seconds)) * .pi)
        let tenth = { (value: Double) in JSONValue.double((value * 10).rounded() / 10) }
        publish(index, "temperature", ["temperature": tenth(20 + 2 * noon + 0.1 * Double(people) + random.unit() * 0.2)])
        publish(index, "humidity", ["humidity": tenth(min(90, 42 + 0.6 * Double(people) + random.unit()))])
        guard index != dead.room || second < dead.at else { return figures.silences += 1 }
        publish(index, "co2", ["co2": .integer(Int64(co2[index].rounded()))])
    }

    private mutating func publish(_ room: Int, _ domain: String, _ properties: JSONObject) {
        updates.append(Update(levels: levels(room, "-", domain), properties: properties))
    }

    private func levels(_ room: Int, _ location: String, _ domain: String) -> [String] {
        let room = building.rooms[room]
        return [DemoBuilding.venue, DemoBuilding.building, DemoBuilding.floorID(room.floor), room.id, location, domain]
    }
}

/// Random numbers that a seed repeats. Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
struct DemoRandom {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    /// At least 0, below 1.
    mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }

    mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(max(1, limit))) }

    private mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
