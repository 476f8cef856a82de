import Geodesy
import Matching

/// A city in which four of five devices are at rest or dawdle, their fixes off by the noise of GPS, and one of five drives.
///
/// Half of the devices have a publication and half a subscription, as in ``City``. Each update is a fix of a random device:
/// one at rest is 5 m (standard deviation in each direction) from where it is, one that drives goes on by 10 m.
struct MixedCity {
    var devices: Int
    var reach: Double
    var updates: Int
    /// Without selectors every pair in range matches.
    var hasSelectors: Bool

    private static let burst = 256
    private static let noise = 5.0

    func measure(into report: inout Report) throws {
        var city = try City(devices: devices, reach: reach, hasSelectors: hasSelectors)
        var effects: [Effect] = []
        var now = City.start
        city.engine.move(city.fixes(updates / 4, noise: Self.noise), at: now, into: &effects)
        effects.removeAll()
        let bursts = (0..<updates / Self.burst).map { _ in city.fixes(Self.burst, noise: Self.noise) }
        let before = city.engine.tally
        var matches = 0
        let elapsed = seconds {
            for burst in bursts {
                now += 1
                city.engine.move(burst, at: now, into: &effects)
                matches += effects.count
                effects.removeAll(keepingCapacity: true)
            }
        }
        let after = city.engine.tally
        let count = Double(bursts.count * Self.burst)
        let selectors = hasSelectors ? "50 selectors" : "no selectors"
        report.add(
            "mixed city, \(Int(reach)) within reach, \(selectors)", count / elapsed, "1/s",
            note: "\(devices) devices, 80 % still with 5 m of noise; each: "
                + "\(figure(Double(after.candidates - before.candidates) / count)) candidates, "
                + "\(figure(Double(after.arrivals - before.arrivals) / count)) into range, "
                + "\(figure(Double(matches) / count)) matches; \(city.engine.memoryBytes / devices) B a device")
    }
}
