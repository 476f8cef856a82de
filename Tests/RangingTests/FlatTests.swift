import FlatRecording
import Ranging
import SeededRandom
import Testing

/// Each drive is judged with the receivers calibrated by the other one, or not at all.
@Suite("A tag in a flat with six receivers")
struct FlatTests {
    private static let flat = Result { try FlatRecording() }

    private static let calibrated = Result { try drive(calibrated: true) }
    private static let uncalibrated = Result { try drive(calibrated: false) }

    private func trials(calibrated: Bool) throws -> [FlatTrial] {
        try calibrated ? Self.calibrated.get() : Self.uncalibrated.get()
    }

    private static func drive(calibrated: Bool) throws -> [FlatTrial] {
        let flat = try flat.get()
        let trials = [(flat.drive, flat.calibration), (flat.calibration, flat.drive)].map { drive, other in
            FlatTrial(
                drive, in: flat,
                settings: calibrated
                    ? flat.settings(from: other, mapped: true) : flat.receivers.map { _ in RangingSettings.standard },
                outlined: calibrated)
        }
        for trial in trials {
            print(
                "flat, calibrated \(calibrated): median \(trial.error(0.5)), mean \(trial.meanError), p90 \(trial.error(0.9)),",
                "within accuracy \(trial.accuracyHolds), rooms \(trial.rightWindows)/\(trial.windows),",
                "delay \(trial.delay(0.5)) \(trial.delay(0.9)), switches \(trial.switches.count),",
                "still \(trial.stillSwitches) in \(trial.stillMilliseconds / 1000) s")
        }
        return trials
    }

    @Test("its position is right to 1.4 m in half of all cases without calibration, and to 1 m with a radio map")
    func position() throws {
        for trial in try trials(calibrated: false) { #expect(trial.error(0.5) <= 1.4 && trial.error(0.9) <= 2.8) }
        for trial in try trials(calibrated: true) { #expect(trial.error(0.5) <= 1 && trial.error(0.9) <= 2.4) }
    }

    @Test("its room is right in 95 of 100 windows of twenty seconds")
    func rooms() throws {
        for calibrated in [false, true] {
            let trials = try trials(calibrated: calibrated)
            let right = trials.reduce(0) { $0 + $1.rightWindows }
            let windows = trials.reduce(0) { $0 + $1.windows }
            #expect(windows >= 60 && Double(right) >= 0.95 * Double(windows))
        }
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
        for calibrated in [true, false] {
            for trial in try trials(calibrated: calibrated) { #expect((0.55...0.75).contains(trial.accuracyHolds)) }
        }
    }
}
