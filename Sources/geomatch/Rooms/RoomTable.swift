import LiveTopics
import Wire

/// Rooms of a structure beside what is known of their occupancy.
struct RoomTable {
    struct Row {
        /// Venue, building, floor and room, `-` for what does not apply.
        var levels: [String]
        var name: String?
        var people: Int64?
        var capacity: Int64?
        var timestamp: Int64?
    }

    private static let levelNames = ["venue", "building", "floor", "room"]
    private static let nameColumnsMax = 30

    /// In the order of their levels.
    private(set) var rows: [Row]

    /// - Parameters:
    ///   - structure: The result of `structure/list`.
    ///   - occupancy: That of `live/snapshot`.
    init(structure: JSONValue, occupancy: JSONValue) {
        var rows: [String: Row] = [:]
        for object in structure.member("objects")?.asArray ?? [] {
            guard let id = object.member("id")?.asString else { continue }
            let parents = object.member("parents")
            let above = Self.levelNames.dropLast().map { parents?.member($0)?.asString ?? LiveTopic.notApplicable }
            rows[Self.key(above + [id])] = Row(
                levels: above + [id], name: object.member("name")?.asString, capacity: object.member("capacity")?.asInt64)
        }
        for update in occupancy.member("updates")?.asArray ?? [] {
            guard let text = update.member("topic")?.asString, let topic = try? LiveTopic(encoded: text),
                topic.room != LiveTopic.notApplicable, topic.location == LiveTopic.notApplicable
            else { continue }
            let levels = [topic.venue, topic.building, topic.floor, topic.room]
            var row = rows[Self.key(levels)] ?? Row(levels: levels)
            let properties = update.member("properties")
            row.people = properties?.member("nrOfPeople")?.asInt64
            row.capacity = properties?.member("capacity")?.asInt64 ?? row.capacity
            row.timestamp = update.member("timestamp")?.asInt64
            rows[Self.key(levels)] = row
        }
        self.rows = rows.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.map(\.value)
    }

    private static func key(_ levels: [String]) -> String { levels.map(LevelCoding.encode).joined(separator: "/") }

    mutating func keepOccupied() { rows.removeAll { ($0.people ?? 0) == 0 } }

    var json: JSONValue {
        let rooms = rows.map { row in
            var room = JSONObject()
            for (name, level) in zip(Self.levelNames, row.levels) where level != LiveTopic.notApplicable {
                room[name] = .string(level)
            }
            room["name"] = row.name.map { .string($0) }
            room["people"] = row.people.map { .integer($0) }
            room["capacity"] = row.capacity.map { .integer($0) }
            room["timestamp"] = row.timestamp.map { .integer($0) }
            return JSONValue.object(room)
        }
        return ["rooms": .array(rooms)]
    }

    /// A line of names, and one for each room; levels that no room has are left out.
    func lines(now: Int64) -> [String] {
        guard !rows.isEmpty else { return [] }
        let levels = Self.levelNames.indices.filter { level in rows.contains { $0.levels[level] != LiveTopic.notApplicable } }
        let hasNames = rows.contains { $0.name != nil }
        let head = levels.map { Self.levelNames[$0] } + (hasNames ? ["name"] : [])
        let figures = ["people", "capacity", "full", "age"]
        let cells = rows.map { row in
            (levels.map { row.levels[$0] } + (hasNames ? [row.name ?? ""] : [])).map(PlainText.printable)
        }
        let widths = head.indices.map { column in
            min(Self.nameColumnsMax, ([head] + cells).map { DisplayWidth.of($0[column]) }.max() ?? 0)
        }
        func line(_ names: [String], _ numbers: [String]) -> String {
            (zip(names, widths).map { DisplayWidth.fit($0, $1) }
                + zip(numbers, figures).map { DisplayWidth.fit($0, max(5, $1.count), alignsRight: true) })
                .joined(separator: "  ")
        }
        return [line(head, figures)] + zip(rows, cells).map { line($1, Self.figures(of: $0, now: now)) }
    }

    private static func figures(of row: Row, now: Int64) -> [String] {
        var share = "-"
        if let people = row.people, let capacity = row.capacity, capacity > 0 {
            share = PlainText.decimal(Double(people) / Double(capacity) * 100, 0) + "%"
        }
        return [
            row.people.map(String.init) ?? "-", row.capacity.map(String.init) ?? "-", share,
            row.timestamp.map { LiveTable.age(now - $0) } ?? "-",
        ]
    }
}
