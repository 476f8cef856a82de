import Testing
import Wire

@testable import geomatch

@Suite("rooms")
struct RoomTableTests {
    private static let structure: JSONValue = [
        "objects": [
            [
                "level": "room", "id": "1-02", "parents": ["venue": "hq", "building": "main", "floor": "1"], "name": "Oak",
                "capacity": 8,
            ],
            ["level": "room", "id": "1-01", "parents": ["venue": "hq", "building": "main", "floor": "1"]],
        ]
    ]

    private static let occupancy: JSONValue = [
        "updates": [
            [
                "topic": "d/hq/main/1/1-02/-/occupancy", "timestamp": 1000, "properties": ["nrOfPeople": 6],
            ],
            ["topic": "d/hq/main/1/-/-/occupancy", "timestamp": 1000, "properties": ["nrOfPeople": 9]],
            [
                "topic": "d/hq/annex/-/a%2Fb/-/occupancy", "timestamp": 2000,
                "properties": ["nrOfPeople": 0, "capacity": 4],
            ],
        ]
    ]

    @Test("Rooms stand beside their occupancy, also those that no structure has; floors are no rooms")
    func lines() {
        let table = RoomTable(structure: Self.structure, occupancy: Self.occupancy)
        #expect(
            table.lines(now: 61_000) == [
                "venue  building  floor  room  name  people  capacity   full    age",
                "hq     annex     -      a/b              0         4     0%    59s",
                "hq     main      1      1-01             -         -      -      -",
                "hq     main      1      1-02  Oak        6         8    75%    60s",
            ])
        #expect(RoomTable(structure: ["objects": []], occupancy: ["updates": []]).lines(now: 0) == [])
    }

    @Test("As JSON what is not known is left out; the occupied ones alone on request")
    func json() {
        var table = RoomTable(structure: Self.structure, occupancy: Self.occupancy)
        table.keepOccupied()
        #expect(
            String(decoding: table.json.serialised(), as: UTF8.self)
                == #"{"rooms":[{"venue":"hq","building":"main","floor":"1","room":"1-02","name":"Oak","people":6,"capacity":8,"timestamp":1000}]}"#
        )
    }
}
