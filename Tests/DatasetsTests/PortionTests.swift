import SeededRandom
import Testing
import Wire

@testable import DaemonCore
@testable import Datasets
@testable import Records

@Suite("Work about very many devices")
struct PortionTests {
    /// Many times as many as are shown to an engine in one turn.
    private static let many = 600

    private let harness = HubHarness { $0.limits.portion = 200 }

    /// Devices `p0000` and so on, in turn inside of the fence of most tests and 10 km away.
    private func place(_ count: Int = many) {
        harness.acknowledges = true
        _ = harness.request("dataset/create", client: "admin")
        harness.batch(
            (0..<count).map { number in
                HubHarness.Message(
                    "d/-/-/-/-/\(id(number))/position",
                    #"{"lat":\#(number % 2 == 0 ? 43.73 : 43.82),"lon":7.42,"timestamp":\#(1000 + number)}"#)
            })
        // Where they are is durable.
        harness.advance(milliseconds: 2000)
        harness.published.removeAll()
    }

    private func id(_ number: Int) -> String { "p" + String(10_000 + number).dropFirst() }

    private func inside(_ count: Int = many) -> [String] { (0..<count).filter { $0 % 2 == 0 }.map { id($0) } }

    private var geofences: Geofences { harness.hub.datasets["d"]!.geofences }
    private var circumstances: CircumstanceBook { harness.hub.datasets["d"]!.circumstances }

    private func known(_ count: Int = many) -> Int { (0..<UInt32(count)).filter { geofences.engine.fix(of: $0) != nil }.count }

    /// One turn of what goes on.
    private func goOn() {
        harness.core.begin()
        _ = harness.hub.continueSearching(&harness.core.turn)
        harness.end()
    }

    /// All that goes on, and the events meanwhile.
    private func finish() -> [String] {
        let events = harness.events()
        var all = events
        while harness.hub.isUnfinished {
            harness.published.removeAll()
            goOn()
            all += harness.events()
        }
        return all
    }

    /// The devices of which a circumstance occurred since the last look.
    private func occurred(_ id: String) -> [String] {
        defer { harness.published.removeAll() }
        return harness.payloads("geomatch/d/alice/circumstance/\(id)").compactMap { try? JSONValue.parse($0) }
            .compactMap { $0["deviceId"]?.text }
    }

    @Test(
        "Very many live states had the disk and a core for themselves until all were written: now there is time between portions")
    func writingBehind() {
        let count = 2000
        place(count)
        harness.batch((0..<count).map { HubHarness.Message("d/-/-/-/-/\(id($0))/position", #"{"lat":43.8,"lon":7.4}"#) })
        let begin = harness.now
        harness.changes = []
        var portions: [(at: Int64, count: Int)] = []
        for _ in 0..<1000 {
            let before = harness.changes.count
            harness.advance(milliseconds: 1)
            let written = harness.changes[before...].count {
                if case .put(let record) = $0 { record is LiveStateRecord } else { false }
            }
            if written > 0 { portions.append((harness.now - begin, written)) }
        }
        #expect(portions.reduce(0) { $0 + $1.count } == count)
        #expect(portions.allSatisfy { $0.count <= 100 })
        #expect(zip(portions, portions.dropFirst()).allSatisfy { $1.at - $0.at >= 8 })
    }

    @Test("The first geofence of a dataset had all positions read in one turn: others are answered between portions of them")
    func geofence() {
        place()
        _ = harness.fence()
        var (before, turns) = (known(), 0)
        #expect(before < Self.many / 4)
        var events = harness.events()
        while harness.hub.isUnfinished {
            #expect(harness.result("device/get", #"{"id":"p0001"}"#, client: "bob") != nil)
            harness.published.removeAll()
            goOn()
            events += harness.events()
            turns += 1
            #expect(known() - before <= Self.many / 4)
            before = known()
        }
        #expect(turns > 4 && known() == Self.many)
        #expect(events == inside().map { "entered \($0)" })
        #expect(harness.inside().count == Self.many / 2)
    }

    @Test("Who is inside is answered when all are known")
    func insideWaits() {
        place()
        _ = harness.fence()
        #expect(known() < Self.many && harness.inside() == inside() && known() == Self.many)
        harness.end()
        #expect(finish() == inside().map { "entered \($0)" })
    }

    @Test("What becomes of a device that is not shown yet comes behind its entering")
    func changes() {
        place()
        _ = harness.fence(#","accuracy":"centre""#)
        let last = id(Self.many - 2)
        harness.send("d/-/-/-/-/\(last)/position", #"{"lat":43.82,"lon":7.42,"timestamp":9000}"#)
        #expect(harness.events() == ["entered \(last)", "exited \(last) left"])
        harness.published.removeAll()
        harness.send("d/-/-/-/-/\(id(Self.many - 4))/position", "")
        #expect(harness.events() == ["entered \(id(Self.many - 4))", "exited \(id(Self.many - 4)) left"])
        harness.published.removeAll()
        #expect(harness.result("device/delete", #"{"id":"\#(id(Self.many - 6))"}"#, client: "admin") != nil)
        #expect(harness.events() == ["entered \(id(Self.many - 6))", "exited \(id(Self.many - 6)) deleted"])
        harness.published.removeAll()
        let holding = harness.result("device/geofences", #"{"deviceId":"\#(id(Self.many - 8))"}"#)
        #expect(holding?["geofences"]?.elements.count == 1)
        let explained = harness.result("geofence/explain", #"{"id":"home","deviceId":"\#(id(Self.many - 10))"}"#)
        #expect(explained?["inside"]?.asBool == true)
        harness.send("d/-/-/-/-/new/position", #"{"lat":43.73,"lon":7.42}"#)
        let entered = finish().filter { $0.hasPrefix("entered") }
        #expect(Set(entered).count == entered.count && entered.count == Self.many / 2 - 3 + 1)
        #expect(harness.inside().count == Self.many / 2 - 3 + 1)
    }

    @Test("After an import the floors of all devices were looked up in one turn: others are answered between portions of them")
    func floors() {
        place()
        _ = harness.fence()
        _ = finish()
        let house = FloorPlan.rectangle(-10, -10, 10, 10)
        let structure = FloorPlan.collection([
            FloorPlan.feature(#""level":"venue","id":"v""#, house),
            FloorPlan.feature(#""level":"building","id":"h","parents":["v"]"#, house),
            FloorPlan.feature(#""level":"floor","id":"0","parents":["v","h"],"floorIndex":0"#),
            FloorPlan.feature(#""level":"room","id":"a","parents":["v","h","0"]"#, house),
        ])
        #expect(harness.result("dataset/import", structure, client: "admin") != nil)
        func onFloor() -> Int { (0..<UInt32(Self.many)).filter { geofences.engine.fix(of: $0)?.floor ?? 0 != 0 }.count }
        #expect(onFloor() == 0)
        harness.now += 1500
        harness.core.begin()
        harness.hub.advance(&harness.core.turn)
        harness.end()
        var (before, turns) = (onFloor(), 0)
        #expect(before > 0 && before < Self.many / 4)
        while harness.hub.isUnfinished {
            #expect(harness.result("device/get", #"{"id":"p0001"}"#, client: "bob") != nil)
            goOn()
            turns += 1
            #expect(onFloor() - before <= Self.many / 4)
            before = onFloor()
        }
        #expect(turns > 4 && before == Self.many / 2)
    }

    @Test("A geofence about very many devices that are known looked at all of them in one turn", arguments: [false, true])
    func large(isUpdate: Bool) {
        place()
        _ = harness.fence(area: #"{"circle":{"latitude":10,"longitude":10,"radius":100}}"#)
        #expect(finish().isEmpty && known() == Self.many)
        if isUpdate {
            _ = harness.request("geofence/update", #"{"id":"home","area":\#(HubHarness.circle())}"#)
        } else {
            _ = harness.fence(id: "other")
        }
        let id = isUpdate ? "home" : "other"
        #expect(geofences.engine.unorderedMembers(of: geofences["alice", id]!.number).isEmpty)
        let last = self.id(Self.many - 2)
        harness.published.removeAll()
        harness.send("d/-/-/-/-/\(last)/position", #"{"lat":43.82,"lon":7.42,"timestamp":9000}"#)
        harness.send("d/-/-/-/-/\(last)/position", #"{"lat":43.82,"lon":7.42,"timestamp":99000}"#)
        #expect(harness.events(id) == ["entered \(last)", "exited \(last) left"])
        #expect(harness.inside(id) == Array(inside().dropLast()))
    }

    @Test("A geofence that moves with a device, or becomes another, looked at all inside in the turn of that device's position")
    func crowd() {
        place()
        _ = harness.fence(#","accuracy":"centre","exitMargin":0"#, area: #"{"around":"p0001","radius":12000}"#)
        _ = finish()
        #expect(harness.inside().count == Self.many - 1)
        // Those in the north are still inside, the others have left.
        harness.published.removeAll()
        harness.send("d/-/-/-/-/p0001/position", #"{"lat":43.9,"lon":7.42,"timestamp":9000}"#)
        #expect(harness.events().isEmpty && geofences.enrolment != nil)
        harness.published.removeAll()
        harness.send("d/-/-/-/-/p0000/position", #"{"lat":43.89,"lon":7.42,"timestamp":9001}"#)
        #expect(harness.events() == ["exited p0000 left", "entered p0000"])
        var events = finish()
        #expect(Array(events.dropFirst(2)) == inside().dropFirst().map { "exited \($0) left" })
        #expect(harness.inside().count == Self.many / 2)
        _ = harness.request("geofence/update", #"{"id":"home","area":\#(HubHarness.circle())}"#)
        events = finish()
        #expect(events.filter { $0.hasPrefix("exited") }.count == Self.many / 2)
        #expect(events.filter { $0.hasPrefix("entered") }.count == Self.many / 2 - 1)
        #expect(harness.inside() == Array(inside().dropFirst()))
        _ = harness.request("geofence/update", #"{"id":"home","area":\#(HubHarness.circle(11_000))}"#)
        #expect(finish() == (1..<Self.many / 2).map { "entered \(id(2 * $0 + 1))" })
        // A kill in the middle of that loses no leaving.
        _ = harness.request("geofence/update", #"{"id":"home","area":\#(HubHarness.circle())}"#)
        goOn()
        harness.restart(killed: true)
        harness.advance(milliseconds: 100)
        #expect(finish().count <= Self.many / 2 - 1 && harness.inside() == Array(inside().dropFirst()))
        _ = harness.request("geofence/update", #"{"id":"home","enabled":false}"#)
        #expect(finish().count == Self.many / 2 - 1 && harness.inside().isEmpty)
    }

    @Test("A geofence around very many devices became the smallest one: their presence says so, in portions of them")
    func presence() {
        place()
        _ = harness.fence(#","accuracy":"centre""#)
        _ = harness.fence(#","accuracy":"centre""#, id: "other", area: HubHarness.circle(200))
        _ = finish()
        func naming(_ id: String) -> Int {
            harness.retained.filter { $0.key.hasSuffix("/presence") && $0.value.contains(#""geofence":"\#(id)""#) }.count
        }
        #expect(naming("home") == Self.many / 2)
        _ = harness.request("geofence/update", #"{"id":"other","area":\#(HubHarness.circle(50))}"#)
        var (before, turns) = (naming("other"), 0)
        #expect(before == 0)
        while harness.hub.isUnfinished {
            // One that leaves meanwhile, and so another takes its place among those inside.
            if turns == 40 { harness.move("p0000", metres: 70) }
            goOn()
            turns += 1
            #expect(naming("other") - before <= Self.many / 4)
            before = naming("other")
        }
        #expect(turns > 4 && before == Self.many / 2 - 1 && naming("home") == 1)
    }

    @Test("A kill in the middle loses no entering and repeats none", arguments: [0, 3])
    func kill(turns: Int) {
        place()
        _ = harness.fence()
        var events = harness.events()
        for _ in 0..<turns {
            harness.published.removeAll()
            goOn()
            events += harness.events()
        }
        #expect(events.count < Self.many / 2)
        harness.restart(killed: true)
        harness.advance(milliseconds: 100)
        events += finish()
        #expect(events.sorted() == inside().map { "entered \($0)" })
        #expect(harness.inside().count == Self.many / 2)
    }

    @Test("A geofence that goes in the middle is left by those that entered, and a dataset ends what goes on")
    func deletions() {
        place()
        _ = harness.fence()
        var events = harness.events()
        harness.published.removeAll()
        goOn()
        events += harness.events()
        #expect(harness.result("geofence/delete", #"{"id":"home"}"#) != nil)
        events += finish()
        let entered = events.filter { $0.hasPrefix("entered") }.map { $0.dropFirst(8) }
        let exited = events.filter { $0.hasPrefix("exited") }.map { $0.dropFirst(7).dropLast(8) }
        #expect(!entered.isEmpty && entered == exited && entered.count < Self.many / 2 && known() == Self.many)
        #expect(harness.result("dataset/delete", client: "admin") != nil)
        place()
        _ = harness.fence()
        #expect(harness.hub.isUnfinished)
        _ = harness.result("dataset/delete", client: "admin")
        goOn()
        #expect(!harness.hub.isUnfinished && harness.hub.shared.unfinished.isEmpty)
    }

    @Test("A full disk in the middle: what was refused never was, and what stays is entered by all", arguments: [false, true])
    func refusal(isCreation: Bool) {
        place()
        if isCreation { harness.isDiskFull = true }
        _ = harness.fence()
        if !isCreation {
            goOn()
            harness.isDiskFull = true
            _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"x"}"#)
        }
        harness.heal()
        harness.advance(milliseconds: 1000)
        #expect(harness.inside() == (isCreation ? [] : inside()))
        if isCreation { #expect(harness.fence() != nil) }
        _ = finish()
        #expect(harness.inside() == inside())
        let delivery = harness.result("geofence/get", #"{"id":"home"}"#)?["delivery"]
        #expect(delivery?["matched"]?.number == Double(Self.many / 2))
    }

    @Test("The first circumstance had all positions read in one turn: others are answered between portions, and all arrive once")
    func circumstance() throws {
        place()
        let place =
            #"{"type":"Feature","geometry":{"type":"Point","coordinates":[7.42,43.73]},"properties":{"id":"bar","name":"Bar"}}"#
        #expect(harness.result("place/import", #"{"places":{"type":"FeatureCollection","features":[\#(place)]}}"#) != nil)
        #expect(circumstances.isActive && circumstances.enrolment != nil)
        goOn()
        let registered = harness.result(
            "circumstance/register", #"{"id":"in","expression":"(at (= factual-id \"bar\"))","when":"arriving"}"#)
        #expect(registered != nil && circumstances.enrolment != nil)
        // It is there at once for who asks.
        let value = harness.result("circumstance/evaluate", #"{"id":"in","deviceId":"\#(id(Self.many - 2))"}"#)
        #expect(value?["value"]?.asBool == true)
        var arrived: [String] = []
        while harness.hub.isUnfinished {
            #expect(harness.result("device/get", #"{"id":"p0001"}"#, client: "bob") != nil)
            arrived += occurred("in")
            goOn()
            let events = occurred("in")
            #expect(events.count < Self.many / 4)
            arrived += events
        }
        #expect(arrived == inside() && circumstances.enrolment == nil)
        harness.restart(killed: true)
        harness.advance(milliseconds: 200)
        #expect(occurred("in").isEmpty)
    }

    @Test("A stay counts from where a device was before it was shown, and a restart in the middle loses no arrival")
    func stays() {
        place()
        harness.now += 1_000_000
        let registered = harness.result(
            "circumstance/register", #"{"id":"long","expression":"(dwelling 600)","when":"arriving"}"#)
        #expect(registered != nil && circumstances.enrolment != nil)
        let last = id(Self.many - 2)
        harness.send("d/-/-/-/-/\(last)/position", #"{"lat":43.73,"lon":7.42}"#)
        #expect(occurred("long") == [last])
        harness.restart(killed: true)
        harness.advance(milliseconds: 2000)
        let all = occurred("long")
        #expect(Set(all).count == all.count && all.count == Self.many - 1)
    }
}
