import Glibc
import Matching
import Selectors

/// Seconds of a core `work` takes: what else the machine does at the time counts only by the caches it shares.
func seconds(_ work: () throws -> Void) rethrows -> Double {
    let before = coreSeconds()
    try work()
    return coreSeconds() - before
}

private func coreSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
}

/// Position updates a second, in bursts and one by one.
struct UpdateMeasurement {
    var devices: Int
    var reach: Double
    var updates: Int

    private static let burst = 256

    func measure(into report: inout Report) throws {
        var city = try City(devices: devices, reach: reach)
        let name = "updates, \(Int(reach)) within reach"
        var effects: [Effect] = []
        var now = City.start
        // Every device's pages are touched once before the clock runs.
        city.engine.move(city.moves(updates / 4), at: now, into: &effects)
        effects.removeAll(keepingCapacity: true)

        let bursts = (0..<updates / Self.burst).map { _ in city.moves(Self.burst) }
        let before = city.engine.tally
        var matches = 0
        let batched = seconds {
            for burst in bursts {
                now += 1
                city.engine.move(burst, at: now, into: &effects)
                matches += effects.count
                effects.removeAll(keepingCapacity: true)
            }
        }
        let after = city.engine.tally
        let count = Double(bursts.count * Self.burst)
        let candidates = Double(after.candidates - before.candidates) / count
        let arrivals = Double(after.arrivals - before.arrivals) / count
        report.add(
            "\(name), bursts of \(Self.burst)", count / batched, "1/s",
            note: "each: \(text(candidates)) candidates, \(text(arrivals)) into range, \(text(Double(matches) / count)) matches")

        let singles = city.moves(updates / 4)
        let single = seconds {
            for move in singles {
                city.engine.move(move.device, to: move.position, at: now, into: &effects)
                effects.removeAll(keepingCapacity: true)
            }
        }
        report.add("\(name), one by one", Double(singles.count) / single, "1/s")
    }

    private func text(_ value: Double) -> String { String((value * 1000).rounded() / 1000) }
}

/// New publications and subscriptions a second, each evaluated with all within reach.
struct RegisterMeasurement {
    var devices: Int
    var reach: Double
    var count: Int

    func measure(into report: inout Report) throws {
        var city = try City(devices: devices, reach: reach)
        let selectors = try City.selectors()
        var effects: [Effect] = []
        let newcomers = (0..<2 * count).map { _ in city.engine.addDevice() }
        for device in newcomers { city.engine.place(device, at: city.newPosition(), heardAt: City.start) }
        var matches = 0
        let publications = seconds {
            for device in newcomers.prefix(count) {
                city.addPublication(on: device, evaluate: true, into: &effects)
                matches += effects.count
                effects.removeAll(keepingCapacity: true)
            }
        }
        report.add("register publications", Double(count) / publications, "1/s", note: note(matches))
        matches = 0
        let subscriptions = seconds {
            for device in newcomers.suffix(count) {
                city.addSubscription(on: device, selectors, evaluate: true, into: &effects)
                matches += effects.count
                effects.removeAll(keepingCapacity: true)
            }
        }
        report.add("register subscriptions", Double(count) / subscriptions, "1/s", note: note(matches))
    }

    private func note(_ matches: Int) -> String {
        "\(Int(reach)) within reach, 50 selectors, \(matches / count) effects each"
    }
}

/// Nanoseconds for one evaluation of a selector.
struct SelectorMeasurement {
    func measure(into report: inout Report) throws {
        var random = SplitMix64(seed: 3)
        let selectors = try (0..<4096).map {
            try Selector("kind = \($0 % 64) and speed < \(($0 / 64 % 8) * 10 + 5) and name <> 'n\($0 / 512)'")
        }
        let properties = (0..<256).map { number in
            Properties([
                (name: "kind", value: .integer(Int64(number % 64))), (name: "speed", value: .double(Double(number % 90))),
                (name: "name", value: .string("n\(number % 9)")),
            ])
        }
        let order = (0..<1 << 16).map { _ in (Int.random(in: 0..<4096, using: &random), Int.random(in: 0..<256, using: &random)) }
        var matches = 0
        let rounds = 30
        let elapsed = seconds {
            for _ in 0..<rounds {
                for (selector, property) in order where selectors[selector].matches(properties[property]) { matches += 1 }
            }
        }
        report.add(
            "selector evaluation", elapsed / Double(rounds * order.count) * 1e9, "ns",
            note: "4096 selectors of three predicates in random order, \(matches / rounds) of \(order.count) TRUE")
    }
}

/// Bytes for a device with a publication of three properties and a subscription.
struct MemoryMeasurement {
    var devices: Int

    func measure(into report: inout Report) {
        let before = residentBytes()
        guard var city = try? City(devices: 1000, reach: 100) else { return }
        let empty = city.engine.memoryBytes
        guard let selectors = try? City.selectors() else { return }
        var effects: [Effect] = []
        var spread = SplitMix64(seed: 11)
        for _ in 0..<devices {
            let device = city.engine.addDevice()
            // Over a country, so that hardly any two share a cell: the costly case.
            let latitude = Double.random(in: 46..<48, using: &spread)
            let longitude = Double.random(in: 6..<10, using: &spread)
            city.engine.place(device, at: .init(latitude: latitude, longitude: longitude), heardAt: City.start)
            city.addPublication(on: device, evaluate: false, into: &effects)
            city.addSubscription(on: device, selectors, evaluate: false, into: &effects)
        }
        let count = Double(devices)
        report.add(
            "memory of device, publication, subscription", Double(residentBytes() - before) / count, "B",
            note: "resident, \(devices) of them spread over 67,000 km2, three properties each")
        report.add("of which the engine's own", Double(city.engine.memoryBytes - empty) / count, "B", note: "allocated")
    }
}

/// Memory of this process that is in use.
func residentBytes() -> Int {
    guard let file = fopen("/proc/self/statm", "r") else { return 0 }
    defer { fclose(file) }
    var buffer = [CChar](repeating: 0, count: 256)
    guard fgets(&buffer, 255, file) != nil else { return 0 }
    let fields = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self).split(
        separator: " ")
    return fields.count > 1 ? (Int(fields[1]) ?? 0) * Int(getpagesize()) : 0
}
