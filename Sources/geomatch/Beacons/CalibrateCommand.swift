import ArgumentParser
import Foundation
import GeomatchClient
import Ranging
import Wire

/// `geomatch beacons calibrate FILE`: from a walk with a beacon to the figures of each receiver.
struct CalibrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "calibrate",
        abstract: "Fit n and rssiOffset of each receiver to a walk with a beacon.",
        usage: "geomatch beacons calibrate FILE [--gateways FILE] [--tx-power DBM] [--apply]",
        discussion: """
            FILE is CSV with a header, one reading on a line:

              gateway,rssi,distance            metres, as measured
              gateway,rssi,latitude,longitude  where the beacon was; the daemon
                                               knows where the gateway is

            or, of a walk that all gateways heard, one instant on a line, in metres of any plan:

              x_m,y_m,rssi_GATEWAY,…           with --gateways FILE: gateway,x_m,y_m

            Ten readings of a gateway are the least; walk from near to far. With --apply the figures are set with device/update, \
            else they are only shown. Of forty readings or more a tenth is held back: where the figures fit that no better than what is \
            set now, they are not applied. A walk with places is kept as a radio map where that fits what was held back better still; \
            of a walk in metres this needs two gateways whose devices have positions.

            Examples:
              geomatch beacons calibrate walk.csv
              geomatch beacons calibrate walk.csv --gateways plan.csv --tx-power=-62
              geomatch --dataset museum beacons calibrate walk.csv --apply
            """)

    @OptionGroup(title: "Connection options")
    var connection: ConnectionOptions

    @OptionGroup
    var output: OutputOptions

    @Option(help: ArgumentHelp("Where the gateways are, in the metres of the walk.", valueName: "FILE"))
    var gateways: String?

    @Option(parsing: .unconditional, help: ArgumentHelp("What the beacon says of its power at 1 m, dBm.", valueName: "DBM"))
    var txPower: Double = PathLoss.standardTxPower

    @Flag(help: "Set the figures at the daemon.")
    var apply = false

    @Argument(help: ArgumentHelp("The walk.", valueName: "file"))
    var file: String

    func validate() throws {
        guard (-200..<0).contains(txPower) else { throw ValidationError("--tx-power is \(txPower): -200 to below 0 is allowed") }
    }

    func run() async throws {
        let walk = try CalibrationWalk(Self.read(file), plan: try gateways.map { try Self.read($0) })
        let frame = try await frame(of: walk)
        let samples = try await walk.samples(in: frame ?? PlanFrame()) { try await position(of: $0) }
        var results: [(gateway: String, result: Calibration.Result?)] = []
        for (gateway, samples) in samples {
            let former = try await apply ? settings(of: gateway) : .standard
            let isMapped = samples.contains { $0.place != nil } && (frame != nil || !apply)
            // Of what is only shown the gain alone counts, which is everywhere the same.
            let site = isMapped ? try await apply ? position(of: gateway) : (0, 0) : nil
            results.append((gateway, Calibration.fit(samples, txPower: txPower, instead: former, at: site)))
        }
        show(results)
        for refusal in walk.refusals { StandardError.line("line \(refusal.line): \(PlainText.printable(refusal.reason))") }
        guard results.contains(where: { $0.result != nil }) else {
            throw CommandFailure.failed("no gateway has \(Calibration.samplesMin) readings")
        }
        guard apply else { return }
        for (gateway, result) in results { if let result, !result.hurts { try await set(result, of: gateway) } }
    }

    private static func read(_ path: String) throws(CommandFailure) -> [UInt8] {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw .usage("\(PlainText.printable(path)) cannot be read")
        }
        return Array(data)
    }

    // MARK: The daemon

    /// How a walk in metres lies on earth; nil where the devices of its gateways do not say.
    private func frame(of walk: CalibrationWalk) async throws -> PlanFrame? {
        guard apply, !walk.plan.isEmpty else { return PlanFrame() }
        var gateways: [(plan: LocalPlane.Point, site: CalibrationWalk.Place)] = []
        for (gateway, place) in walk.plan.sorted(by: { $0.key < $1.key }) {
            if let site = try? await position(of: gateway) { gateways.append((place, site)) }
        }
        return PlanFrame(gateways)
    }

    private func position(of gateway: String) async throws -> CalibrationWalk.Place {
        let device = try await ask("device/get", ["id": .string(gateway)])
        guard let location = device.member("location"), let latitude = location.member("latitude")?.asDouble,
            let longitude = location.member("longitude")?.asDouble
        else { throw CommandFailure.failed("the device \(PlainText.printable(gateway)) has no position") }
        return (latitude, longitude)
    }

    /// What a gateway has so far.
    private func settings(of gateway: String) async throws -> RangingSettings {
        let ranging = try await ask("device/get", ["id": .string(gateway)]).member("ranging")
        return RangingSettings(
            n: ranging?.member("n")?.asDouble ?? RangingSettings.standard.n,
            rssiOffset: ranging?.member("rssiOffset")?.asDouble ?? RangingSettings.standard.rssiOffset,
            map: ranging?.member("map")?.asString.flatMap { RadioMap($0) })
    }

    private func set(_ result: Calibration.Result, of gateway: String) async throws {
        let ranging: JSONObject = [
            "n": .double(result.n.rounded(3)), "rssiOffset": .double(result.rssiOffset.rounded(2)),
            "map": result.map.map { .string($0.text) } ?? .null,
        ]
        _ = try await ask("device/update", ["id": .string(gateway), "ranging": .object(ranging)])
    }

    private func ask(_ name: String, _ parameters: JSONObject) async throws -> JSONValue {
        try await answer(try connection.configuration()) { client in
            try await client.result(of: name, parameters, asJSON: output.json)
        }
    }

    // MARK: Output

    /// What the readings that were held back say.
    private static func gain(_ result: Calibration.Result) -> String {
        guard let trial = result.trial else { return "" }
        let map = trial.mapped.map { ", with a map \(PlainText.decimal($0, 1))" } ?? ""
        let figures =
            "\(PlainText.decimal(trial.former, 1)) → \(PlainText.decimal(trial.fitted, 1))\(map) dB off on readings held back"
        return result.hurts ? "; \(figures): not better than before, not applied" : "; \(figures)"
    }

    private func show(_ results: [(gateway: String, result: Calibration.Result?)]) {
        if output.json {
            let gateways = results.map { gateway, result -> JSONValue in
                var object: JSONObject = ["gateway": .string(gateway)]
                if let result {
                    object["n"] = .double(result.n.rounded(3))
                    object["rssiOffset"] = .double(result.rssiOffset.rounded(2))
                    object["deviation"] = .double(result.deviation.rounded(2))
                    object["readings"] = .integer(Int64(result.used))
                    if let trial = result.trial {
                        var heldBack: JSONObject = [
                            "former": .double(trial.former.rounded(2)), "fitted": .double(trial.fitted.rounded(2)),
                        ]
                        if let mapped = trial.mapped { heldBack["mapped"] = .double(mapped.rounded(2)) }
                        object["heldBack"] = .object(heldBack)
                    }
                }
                return .object(object)
            }
            return StandardOutput.print(json: ["gateways": .array(gateways)])
        }
        for (gateway, result) in results {
            guard let result else {
                StandardOutput.print("\(PlainText.printable(gateway)): less than \(Calibration.samplesMin) readings")
                continue
            }
            let figures =
                "n \(PlainText.decimal(result.n, 3)) rssiOffset \(PlainText.decimal(result.rssiOffset, 2)) "
                + "deviation \(PlainText.decimal(result.deviation, 1)) dB, \(result.used) readings"
            let note = result.fitsExponent ? "" : " (n could not be fitted: walk from near to far)"
            StandardOutput.print("\(PlainText.printable(gateway)): \(figures)\(note)\(Self.gain(result))")
        }
    }
}

extension Double {
    /// To so many decimals.
    fileprivate func rounded(_ decimals: Int) -> Double {
        var power = 1.0
        for _ in 0..<decimals { power *= 10 }
        return (self * power).rounded() / power
    }
}
