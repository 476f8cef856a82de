import Foundation
import Geodesy
import Ranging

/// A walk with a beacon as a file has it.
struct CalibrationWalk {
    typealias Place = (latitude: Double, longitude: Double)

    private enum Reading {
        case metres(Double)
        case place(Place)
        /// Metres from the gateway in the walk's own frame.
        case planned(LocalPlane.Point)
    }

    private(set) var refusals: [Trace.Refusal] = []
    private var readings: [(gateway: String, rssi: Double, where: Reading)] = []

    /// Where the gateways are in the walk's own frame, by name; empty where it gives places on earth.
    private(set) var plan: [String: LocalPlane.Point] = [:]

    private static let refusalsMax = 20

    /// - Parameter plan: Where the gateways are, of a walk in metres.
    /// - Throws: `usage` where the header does not name the columns.
    init(_ text: [UInt8], plan: [UInt8]?) throws(CommandFailure) {
        var lines = TraceLines(text)
        guard let header = lines.next(), let names = CSVTrace.fields(of: header.bytes)?.map({ $0.lowercased() }) else {
            throw .usage("the walk has no header line")
        }
        if names.contains("gateway") {
            try readReadings(&lines, names)
        } else {
            guard let plan else { throw .usage("the walk has no column gateway; a walk in metres needs --gateways FILE") }
            self.plan = try Self.plan(plan)
            try readPlanned(&lines, names)
        }
    }

    /// The readings of each gateway with their distances, in the order in which the gateways come first.
    ///
    /// - Parameters:
    ///   - frame: How the walk's own frame lies on earth.
    ///   - position: Where a gateway is; asked once for each that needs it.
    func samples(
        in frame: PlanFrame = PlanFrame(), _ position: (String) async throws -> Place
    ) async throws -> [(gateway: String, samples: [Calibration.Sample])] {
        var order: [String] = []
        var samples: [[UInt8]: [Calibration.Sample]] = [:]
        var places: [[UInt8]: Place] = [:]
        for reading in readings {
            let key = Array(reading.gateway.utf8)
            if samples[key] == nil { order.append(reading.gateway) }
            let metres: Double
            var offset: LocalPlane.Point?
            switch reading.where {
            case .metres(let known): metres = known
            case .planned(let from):
                metres = from.distance(to: LocalPlane.Point(x: 0, y: 0))
                offset = frame.turned(from)
            case .place(let place):
                let gateway: Place
                if let known = places[key] { gateway = known } else { gateway = try await position(reading.gateway) }
                places[key] = gateway
                metres = Geodesic.distance(
                    fromLatitude: place.latitude, fromLongitude: place.longitude, toLatitude: gateway.latitude,
                    toLongitude: gateway.longitude)
                offset = LocalPlane(around: Position(latitude: gateway.latitude, longitude: gateway.longitude)).point(
                    Position(latitude: place.latitude, longitude: place.longitude))
            }
            samples[key, default: []].append(
                Calibration.Sample(distance: max(metres, 0.1), rssi: reading.rssi, place: offset))
        }
        return order.map { ($0, samples[Array($0.utf8)] ?? []) }
    }

    // MARK: Reading

    private mutating func refuse(_ line: Int, _ reason: String) {
        if refusals.count < Self.refusalsMax { refusals.append(Trace.Refusal(line: line, reason: reason)) }
    }

    private mutating func readReadings(_ lines: inout TraceLines<[UInt8]>, _ names: [String]) throws(CommandFailure) {
        func column(_ wanted: String...) -> Int? { wanted.lazy.compactMap { names.firstIndex(of: $0) }.first }
        guard let gateway = column("gateway"), let rssi = column("rssi") else {
            throw .usage("the header has no column \(names.contains("gateway") ? "rssi" : "gateway")")
        }
        let distance = column("distance", "distance_m")
        let latitude = column("latitude", "lat")
        let longitude = column("longitude", "lon", "lng", "long")
        guard distance != nil || latitude != nil && longitude != nil else {
            throw .usage("the header has neither distance nor latitude and longitude")
        }
        while let line = lines.next() {
            guard let fields = CSVTrace.fields(of: line.bytes), fields.count == names.count else {
                refuse(line.number, "not \(names.count) fields")
                continue
            }
            guard let level = Double(fields[rssi]), level < 0, level > -200 else {
                refuse(line.number, "rssi must be below 0 dBm")
                continue
            }
            if let distance, let metres = Double(fields[distance]), metres > 0, metres < 10_000 {
                readings.append((fields[gateway], level, .metres(metres)))
            } else if let latitude, let longitude, let north = Double(fields[latitude]), let east = Double(fields[longitude]),
                Position.isValid(latitude: north, longitude: east)
            {
                readings.append((fields[gateway], level, .place((north, east))))
            } else {
                refuse(line.number, "neither a distance above 0 m nor a place")
            }
        }
    }

    private mutating func readPlanned(
        _ lines: inout TraceLines<[UInt8]>, _ names: [String]
    ) throws(CommandFailure) {
        guard let x = names.firstIndex(where: { $0 == "x_m" || $0 == "true_x_m" }),
            let y = names.firstIndex(where: { $0 == "y_m" || $0 == "true_y_m" })
        else { throw .usage("the header has no columns x_m and y_m") }
        var columns: [(column: Int, gateway: String, place: LocalPlane.Point)] = []
        for (column, name) in names.enumerated() where name.hasPrefix("rssi_") {
            let gateway = String(name.dropFirst("rssi_".count))
            guard let place = plan[gateway] else {
                throw .usage("--gateways does not say where \(PlainText.printable(gateway)) is")
            }
            columns.append((column, gateway, place))
        }
        while let line = lines.next() {
            guard let fields = CSVTrace.fields(of: line.bytes), fields.count == names.count, let east = Double(fields[x]),
                let north = Double(fields[y])
            else {
                refuse(line.number, "not \(names.count) fields with a place")
                continue
            }
            for (column, gateway, place) in columns {
                guard let level = Double(fields[column]), level < 0, level > -200 else { continue }
                let from = LocalPlane.Point(x: east - place.x, y: north - place.y)
                guard from.distance(to: .init(x: 0, y: 0)) < 10_000 else { continue }
                readings.append((gateway, level, .planned(from)))
            }
        }
    }

    /// Where the gateways are, by name.
    private static func plan(_ text: [UInt8]) throws(CommandFailure) -> [String: LocalPlane.Point] {
        var lines = TraceLines(text)
        guard let header = lines.next(), let names = CSVTrace.fields(of: header.bytes)?.map({ $0.lowercased() }),
            let gateway = names.firstIndex(where: { $0 == "gateway" || $0 == "anchor" }),
            let x = names.firstIndex(of: "x_m"), let y = names.firstIndex(of: "y_m")
        else { throw .usage("--gateways has no header gateway,x_m,y_m") }
        var plan: [String: LocalPlane.Point] = [:]
        while let line = lines.next() {
            guard let fields = CSVTrace.fields(of: line.bytes), fields.count == names.count, let east = Double(fields[x]),
                let north = Double(fields[y])
            else { throw .usage("line \(line.number) of --gateways is not gateway,x_m,y_m") }
            plan[fields[gateway].lowercased()] = LocalPlane.Point(x: east, y: north)
        }
        return plan
    }
}

/// How the frame of a plan in metres is turned against east and north.
struct PlanFrame {
    private var angle = 0.0

    /// Metres by which gateways may lie beside where the plan has them.
    private static let strayMax = 3.0

    /// East and north are those of the plan.
    init() {}

    /// - Parameter gateways: Where each is in the plan and on earth.
    /// - Returns: nil with less than two, or where the plan is not as they are, as one that is mirrored.
    init?(_ gateways: [(plan: LocalPlane.Point, site: CalibrationWalk.Place)]) {
        guard gateways.count >= 2, let first = gateways.first?.site else { return nil }
        let plane = LocalPlane(around: Position(latitude: first.latitude, longitude: first.longitude))
        let sites = gateways.map { plane.point(Position(latitude: $0.site.latitude, longitude: $0.site.longitude)) }
        func centred(_ points: [LocalPlane.Point]) -> [LocalPlane.Point] {
            let count = Double(points.count)
            let (x, y) = (points.reduce(0) { $0 + $1.x } / count, points.reduce(0) { $0 + $1.y } / count)
            return points.map { LocalPlane.Point(x: $0.x - x, y: $0.y - y) }
        }
        let pairs = zip(centred(gateways.map(\.plan)), centred(sites))
        angle = atan2(
            pairs.reduce(0) { $0 + $1.0.x * $1.1.y - $1.0.y * $1.1.x }, pairs.reduce(0) { $0 + $1.0.x * $1.1.x + $1.0.y * $1.1.y }
        )
        for (plan, site) in pairs where turned(plan).distance(to: site) > Self.strayMax { return nil }
    }

    /// Metres east and north.
    func turned(_ point: LocalPlane.Point) -> LocalPlane.Point {
        LocalPlane.Point(x: point.x * cos(angle) - point.y * sin(angle), y: point.x * sin(angle) + point.y * cos(angle))
    }
}
