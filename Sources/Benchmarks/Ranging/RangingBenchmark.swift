import ArgumentParser
import FlatRecording
import Geodesy
import Matching
import Ranging
import Selectors

/// Beacons: how fast sightings become distances and matches, what they cost, and how right places and rooms are.
struct RangingBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ranging",
        abstract: "Measures ranging, matching by proximity, and positions in a recorded flat.",
        discussion: """
            Phones in a building of many beacons, each phone seeing some of them in turn at drifting levels: every sighting goes \
            through the trimmed mean and, as half of the beacons have a publication and all phones a subscription, through matching. \
            Then the drives of a tag through a furnished flat with six receivers, with and without their calibration.
            """)

    @Option(help: "Registered beacons.")
    var beacons = 100_000

    @Option(help: "Phones.")
    var phones = 2_000

    @Option(help: "Beacons each phone sees at a time.")
    var seen = 20

    @Option(help: "Sightings.")
    var sightings = 1_000_000

    @Flag(help: "Print JSON instead of a table.")
    var json = false

    func validate() throws {
        guard (1...1_000_000).contains(beacons), (1...100_000).contains(phones), (1...1000).contains(seen),
            (1...100_000_000).contains(sightings), seen <= beacons
        else { throw ValidationError("--beacons, --phones, --seen and --sightings must be above 0, and --seen at most 1000") }
    }

    func run() throws {
        var report = Report()
        try measureRate(into: &report)
        try measureFlat(into: &report)
        print(json ? report.json : report.table)
    }

    // MARK: Rate and memory

    private func measureRate(into report: inout Report) throws {
        var random = SplitMix64(seed: 11)
        let engine = Engine()
        var effects: [Effect] = []
        let beaconDevices = (0..<beacons).map { _ in engine.addDevice() }
        let phoneDevices = (0..<phones).map { _ in engine.addDevice() }
        let properties = Properties([(name: "floor", value: .integer(1))])
        for place in stride(from: 0, to: beacons, by: 2) {
            _ = engine.addPublication(
                on: beaconDevices[place], topic: "art", range: 2, expiresAt: .max, properties: properties, at: 0, into: &effects)
        }
        let options = MatchOptions(mode: .visit, matchTTL: .max, matchDTL: 10, exitMargin: 1)
        let selector = try Selector("floor = 1")
        for phone in phoneDevices {
            _ = engine.addSubscription(
                on: phone, topic: "art", range: 1, expiresAt: .max, selector: selector, options: options, at: 0, into: &effects)
        }
        let table = ProximityTable()
        let engineBefore = engine.memoryBytes
        let firsts = phoneDevices.indices.map { _ in Int.random(in: 0...beacons - seen, using: &random) }
        let key = BeaconKey(high: 0, low: 0, major: 0, minor: 0)
        let levels = (0..<4096).map { _ in -Double(Int.random(in: 55...85, using: &random)) }
        var events = 0
        let elapsed = seconds {
            for number in 0..<sightings {
                let phone = number % phones
                let beacon = firsts[phone] + number / phones % seen
                let now = 1_000_000 + Int64(number) / 50
                let outcome = table.take(
                    Sighting(beacon: key, rssi: levels[number & 4095]), by: UInt32(phone), of: UInt32(beacon), .standard,
                    seenAt: now, at: now, maximum: 1000)
                switch outcome {
                case .began(let fact), .changed(let fact):
                    engine.see(
                        beaconDevices[beacon], by: phoneDevices[phone], distance: fact.distance, seenAt: now, at: now,
                        into: &effects)
                    events += effects.count
                    effects.removeAll(keepingCapacity: true)
                case .late, .full: break
                }
            }
        }
        report.add(
            "sightings through ranging and matching", Double(sightings) / elapsed, "1/s",
            note: "\(events) begins and ends of visits, \(beacons) beacons")
        let pairs = Double(max(1, table.count))
        let matching = Double(max(0, engine.memoryBytes - engineBefore))
        report.add(
            "memory of each live pair in ranging", Double(table.memoryBytes) / pairs, "bytes", note: "\(table.count) pairs")
        report.add("memory of each live pair in matching", matching / pairs, "bytes", note: "sights and visits")
        report.add("memory of each live pair", (Double(table.memoryBytes) + matching) / pairs, "bytes", note: "both")
    }

    // MARK: A flat

    /// Both drives, each calibrated with the other one: nothing is judged by what it was fitted on.
    private func measureFlat(into report: inout Report) throws {
        let flat = try FlatRecording()
        let standard = flat.receivers.map { _ in RangingSettings.standard }
        let drives = [("short drive", flat.drive, flat.calibration), ("long drive", flat.calibration, flat.drive)]
        for kind in Knowledge.allCases {
            var (right, windows) = (0, 0)
            var errors: [Double] = []
            for (name, drive, other) in drives {
                let settings = kind.isCalibrated ? flat.settings(from: other, mapped: kind.isMapped) : standard
                let trial = FlatTrial(drive, in: flat, settings: settings, outlined: kind.isOutlined)
                report.add(
                    "position error in a flat, \(kind.rawValue), \(name): median", trial.error(0.5), "m",
                    note: "mean \(decimals(trial.meanError)), 90th percentile \(decimals(trial.error(0.9)))")
                report.add("accuracy told that holds, \(kind.rawValue), \(name)", trial.accuracyHolds * 100, "%")
                report.add(
                    "room delay, \(kind.rawValue), \(name): median", trial.delay(0.5), "s",
                    note: "90th percentile \((trial.delay(0.9) * 10).rounded() / 10) s, \(trial.switches.count) switches")
                errors += trial.errors
                right += trial.rightWindows
                windows += trial.windows
            }
            errors.sort()
            report.add(
                "position error in a flat, \(kind.rawValue), both drives: median", errors[errors.count / 2], "m",
                note: "mean \(decimals(errors.reduce(0, +) / Double(errors.count))), "
                    + "90th percentile \(decimals(errors[errors.count * 9 / 10]))")
            report.add(
                "room right in windows of 20 s, \(kind.rawValue)", Double(right) * 100 / Double(windows), "%",
                note: "\(right) of \(windows)")
        }
        measureStillTag(in: flat, into: &report)
        for (move, isSilent) in [("a clear move", false), ("a single clear reading and silence", true)] {
            var random = SplitMix64(seed: 7)
            let trial = MoveTrial(moves: 1000, isSilent: isSilent, using: &random)
            report.add(
                "\(move): room right within 3 s", Double(trial.right) * 100 / Double(trial.moves), "%",
                note: "two gateways 8 m apart, a reading a second, 4 dB of noise")
        }
        measureFilters(into: &report)
    }

    /// What is known of the receivers beside where they are.
    private enum Knowledge: String, CaseIterable {
        case nothing = "uncalibrated"
        case outlines = "outlines"
        case lines = "calibrated"
        case maps = "radio map"
        case everything = "radio map and outlines"

        var isCalibrated: Bool { self != .nothing && self != .outlines }
        var isMapped: Bool { self == .maps || self == .everything }
        var isOutlined: Bool { self == .outlines || self == .everything }
    }

    /// How much of a core the filters of many carried beacons take, each with twelve gateways that hear it.
    private func measureFilters(into report: inout Report) {
        measureFilters("2,000 carried beacons with 12 gateways each", outlines: nil, into: &report)
        measureFilters(
            "2,000 carried beacons with 12 gateways each, in rooms of 16 m²",
            outlines: (0, { .room(Int($0.x / 4) * 100 + Int($0.y / 4)) }), into: &report)
        report.add("memory of each carried beacon's filter", Double(PositionFilter.bytes), "bytes")
    }

    private func measureFilters(
        _ name: String, outlines: (asOf: UInt32, ground: (LocalPlane.Point) -> PositionFilter.Ground)?, into report: inout Report
    ) {
        var random = SplitMix64(seed: 5)
        let observers = (0..<12).map { number in
            PositionFilter.Observer(
                place: LocalPlane.Point(x: Double(number % 4) * 8, y: Double(number / 4) * 8), n: 2.7, room: number / 2)
        }
        var filters = (0..<2000).map { _ in PositionFilter() }
        let rounds = 5
        let elapsed = seconds {
            for round in 0..<rounds {
                for number in filters.indices {
                    let evidence = observers.indices.map {
                        (observer: $0, evidence: PositionFilter.Evidence.loss(Double.random(in: 0...30, using: &random)))
                    }
                    filters[number].step(evidence, among: observers, at: Int64(round) * 1000, outlines: outlines)
                }
            }
        }
        report.add(name, elapsed / Double(rounds) * 100, "%", note: "of a core, a step a second")
    }

    /// Where the drives went, at places spread evenly over each.
    ///
    /// What a still tag says is drawn from the long drive, so that the short one calibrates.
    private func measureStillTag(in flat: FlatRecording, into report: inout Report) {
        let standard = flat.receivers.map { _ in RangingSettings.standard }
        let mapped = flat.settings(from: flat.drive, mapped: true)
        for kind in [Knowledge.nothing, .outlines, .everything] {
            var random = SplitMix64(seed: 3)
            for (name, drive) in [("short", flat.drive), ("long", flat.calibration)] {
                var switches = 0
                var minutes = 0.0
                for row in stride(from: 20, to: drive.count, by: drive.count / 24).map({ drive[$0] }) {
                    let rows = flat.stillTag(at: row.place, seconds: 600, using: &random)
                    let trial = FlatTrial(
                        rows, in: flat, settings: kind.isMapped ? mapped : standard, outlined: kind.isOutlined)
                    switches += trial.stillSwitches
                    minutes += Double(trial.stillMilliseconds) / 60_000
                }
                report.add(
                    "room switches of a still tag, \(kind.rawValue), on the \(name) drive", Double(switches) / minutes, "1/min",
                    note: "\(switches) in \(Int(minutes)) min")
            }
        }
    }

    private func decimals(_ value: Double) -> String { "\((value * 100).rounded() / 100) m" }
}
