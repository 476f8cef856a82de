import LiveTopics
import Testing
import Wire

@testable import Datasets
@testable import Records

@Suite("Structure and occupancy, without a hub")
struct StructureComponentTests {
    private let dataset = Dataset(DatasetRecord(id: "d", createdAt: 0, updatedAt: 0, revision: ""))
    private let states = LiveStates()
    private var turn = Turn(at: 0, seed: (1, 2))

    init() throws {
        let structure = try JSONValue.parse(FloorPlan.house)["structure"]
        #expect(dataset.structure.put(structure?["features"]?.elements ?? [], of: "d", at: 0).records.count == 11)
    }

    private func state(_ topic: String) throws -> LiveState {
        LiveState(dataset: dataset, live: try LiveTopic(encoded: topic), topic: topic)
    }

    private func update(_ x: Double, floorIndex: Int? = nil) -> LiveUpdate {
        LiveUpdate(position: FloorPlan.position(x, 5), floorIndex: floorIndex)
    }

    @Test("A position is found in its room, and its properties are completed by what its topic leaves open")
    func located() {
        var properties = Array(#"{"room":"mine"}"#.utf8)
        let found = dataset.structure.locate(
            update(15, floorIndex: 1), on: "d/v/-/-/-/phone/position", completing: &properties)
        #expect(found?.levels == ["v", "h", "1", "b"])
        #expect(String(decoding: properties, as: UTF8.self) == #"{"room":"mine","building":"h","floor":"1"}"#)
        #expect(dataset.structure.whereabouts(of: update(100), on: "d/-/-/-/-/phone/position") == nil)
    }

    @Test("A floor is the one its topic names, else that of the room, else that of the index in its building")
    mutating func floors() throws {
        let structure = dataset.structure
        let named = structure.floor(of: try state("d/v/h/1/-/phone/position"), index: nil, found: nil, &turn)
        let located = structure.whereabouts(of: update(15, floorIndex: 1), on: "d/-/-/-/-/phone/position")
        let open = try state("d/-/-/-/-/phone/position")
        #expect(named != .unknown && structure.floor(of: open, index: nil, found: located, &turn) == named)
        #expect(structure.floor(of: try state("d/v/h/-/-/phone/position"), index: 1, found: nil, &turn) == named)
        #expect(structure.floor(of: open, index: 1, found: nil, &turn) == .unknown)
        #expect(turn.effects.output.isEmpty)
    }

    @Test("Positions are looked up again a second after the last change")
    func changes() {
        let declarations = dataset.structure.declarations
        #expect(!dataset.structure.consumeChange(at: 999))
        #expect(dataset.structure.consumeChange(at: 1000) && !dataset.structure.consumeChange(at: 2000))
        dataset.structure.noteDeclarations()
        #expect(dataset.structure.declarations != declarations)
    }

    @Test("Rooms and what they lie in are reported from the beginning, then where their figures changed, once a second at most")
    func occupancy() throws {
        let occupancy = Occupancy(dataset, limits: HubLimits())
        let phone = try state("d/-/-/-/-/phone/position")
        func due(_ now: Int64) -> [String] {
            occupancy.removeDue(at: now, besides: states).map { place in
                var writer = JSONWriter()
                place.report(at: now, into: &writer)
                return place.live.room + String(decoding: writer.bytes, as: UTF8.self)
            }
        }
        func move(_ x: Double, _ now: Int64) {
            let update = update(x, floorIndex: 1)
            occupancy.see(phone, update, dataset.structure.whereabouts(of: update, on: phone.topic), at: now)
        }
        occupancy.start(reported: [], [], at: 0, using: JSONParser())
        #expect(due(0).count == 11 && due(0).isEmpty)
        move(15, 1000)
        #expect(due(1000) == Array(repeating: #"-{"nrOfPeople":1}"#, count: 3) + [#"b{"nrOfPeople":1}"#])
        move(5, 1500)
        #expect(due(1500) == [#"a{"nrOfPeople":1,"capacity":5}"#])
        #expect(due(2000) == [#"b{"nrOfPeople":0}"#])
        occupancy.noteForgotten(phone, isCurrent: true)
        #expect(due(3000).count == 4 && occupancy.count == 0)
    }
}
