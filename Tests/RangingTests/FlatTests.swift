import FlatRecording
import Ranging
import SeededRandom
import Testing

/// Each drive is judged with the receivers calibrated by the other one, or not at all.
@Suite("A tag in a flat with six receivers")
struct FlatTests {
    private static let flat = Result { try FlatRecording() }

    /// What is known beside where the receivers are.
    private enum Knowledge: String, CaseIterable {
        case nothing
        case outlines
        /// Outlines and radio maps.
        case everything
    }

    private static let trials = Result { try Dictionary(uniqueKeysWithValues: Knowledge.allCases.map { ($0, try drive($0)) }) }

    private func trials(_ knowledge: Knowledge) throws -> [FlatTrial] { try #require(try Self.trials.get()[knowledge]) }

    private static func drive(_ knowledge: Knowledge) throws -> [FlatTrial] {
        let flat = try flat.get()
        let standard = flat.receivers.map { _ in RangingSettings.standard }
        let trials = [(flat.drive, flat.calibration), (flat.calibration, flat.drive)].map { drive, other in
            FlatTrial(
                drive, in: flat, settings: knowledge == .everything ? flat.settings(from: other, mapped: true) : standard,
                outlined: knowledge != .nothing)
        }
        for trial in trials {
            print(
                "flat, \(knowledge): median \(trial.error(0.5)), mean \(trial.meanError), p90 \(trial.error(0.9)),",
                "within accuracy \(trial.accuracyHolds), rooms \(trial.rightWindows)/\(trial.windows),",
                "delay \(trial.delay(0.5)) \(trial.delay(0.9)), switches \(trial.switches.count),",
                "still \(trial.stillSwitches) in \(trial.stillMilliseconds / 1000) s")
        }
        return trials
    }

    @Test("half of all positions are right to 1.4 m without calibration, to 1.2 m with outlines, to 0.85 m with radio maps, too")
    func position() throws {
        for trial in try trials(.nothing) { #expect(trial.error(0.5) <= 1.4 && trial.error(0.9) <= 2.7) }
        for trial in try trials(.outlines) { #expect(trial.error(0.5) <= 1.2 && trial.error(0.9) <= 2.3) }
        for trial in try trials(.everything) { #expect(trial.error(0.5) <= 0.9 && trial.error(0.9) <= 2.5) }
        let errors = try trials(.everything).flatMap(\.errors).sorted()
        #expect(errors[errors.count / 2] <= 0.85 && errors[errors.count * 9 / 10] <= 1.75)
    }

    /// Without outlines a room is where its gateway is the nearest, which is not where its walls are.
    @Test("its room is right in 96 of 100 windows of twenty seconds with outlines, and in 93 without")
    func rooms() throws {
        for knowledge in Knowledge.allCases {
            let trials = try trials(knowledge)
            let right = trials.reduce(0) { $0 + $1.rightWindows }
            let windows = trials.reduce(0) { $0 + $1.windows }
            #expect(windows >= 60 && Double(right) >= (knowledge == .nothing ? 0.93 : 0.96) * Double(windows))
        }
    }

    @Test("with outlines and radio maps its room follows within 3 s in half of all cases, and within 7 s in nine of ten")
    func delay() throws {
        let delays = try trials(.everything).flatMap(\.delays).sorted()
        #expect(delays.count >= 20 && delays[delays.count / 2] <= 3.1 && delays[delays.count * 9 / 10] <= 7)
    }

    @Test("while it lies still, not right beside a wall, it changes its room at most once in twenty minutes")
    func still() throws {
        let flat = try Self.flat.get()
        var random = SplitMix64.forTest()
        var switches = 0
        var milliseconds: Int64 = 0
        for row in stride(from: 20, to: flat.drive.count, by: 90).map({ flat.drive[$0] })
        where !FlatRecording.isBesideWall(row.place) {
            let rows = flat.stillTag(at: row.place, seconds: 300, using: &random)
            let trial = FlatTrial(rows, in: flat, settings: flat.settings(from: flat.drive))
            switches += trial.stillSwitches
            milliseconds += trial.stillMilliseconds
        }
        print("flat, still: \(switches) switches in \(milliseconds / 60_000) minutes")
        #expect(Double(switches) <= 0.05 * Double(milliseconds) / 60_000)
    }

    @Test("the accuracy that is reported holds in about two of three cases")
    func accuracy() throws {
        for knowledge in Knowledge.allCases {
            for trial in try trials(knowledge) { #expect((0.64...0.73).contains(trial.accuracyHolds)) }
        }
    }
}
