import FlatRecording
import Ranging
import Testing

@Suite("A tag in a flat with six receivers")
struct FlatTests {
    private static let flat = Result { try FlatRecording() }

    private func trial(calibrated: Bool) throws -> FlatTrial {
        let flat = try Self.flat.get()
        let settings = calibrated ? flat.settings() : flat.receivers.map { _ in RangingSettings.standard }
        let trial = FlatTrial(flat.drive, in: flat, settings: settings)
        print(
            "flat, calibrated \(calibrated): median \(trial.error(0.5)), mean \(trial.meanError), p90 \(trial.error(0.9)),",
            "within accuracy \(trial.accuracyHolds), rooms \(trial.rightWindows)/\(trial.windows), switches \(trial.switches.count),",
            "still \(trial.stillSwitches) in \(trial.stillMilliseconds / 1000) s")
        return trial
    }

    @Test("its position is right to 1.13 m in half of all cases, once the receivers are calibrated")
    func position() throws {
        let trial = try trial(calibrated: true)
        #expect(trial.error(0.5) <= 1.13)
        #expect(trial.error(0.9) <= 3)
    }

    @Test("without calibration it is right to 2 m in half of all cases")
    func uncalibrated() throws {
        #expect(try trial(calibrated: false).error(0.5) <= 2)
    }
}
