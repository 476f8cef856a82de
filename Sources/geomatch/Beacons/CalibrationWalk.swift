import Geodesy
import Ranging

/// A walk with a beacon as a file tells it.
struct CalibrationWalk {
    typealias Place = (latitude: Double, longitude: Double)

    private enum Reading {
        case metres(Double)
        case place(Place)
    }

    private(set) var refusals: [Trace.Refusal] = []
    private var readings: [(gateway: String, rssi: Double, where: Reading)] = []

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
            try readPlanned(&lines, names, try Self.plan(plan))
        }
    }

    /// The readings of each gateway with their distances, in the order in which the gateways come first.
    ///
    /// - Parameter position: Where a gateway is; asked once for each that needs it.
    func samples(
        _ position: (String) async throws -> Place
    ) async throws -> [(gateway: String, samples: [Calibration.Sample])] {
        var order: [String] = []
        var samples: [[UInt8]: [Calibration.Sample]] = [:]
        var places: [[UInt8]: Place] = [:]
        for reading in readings {
            let key = Array(reading.gateway.utf8)
            if samples[key] == nil { order.append(reading.gateway) }
            let metres: Double
            switch reading.where {
            case .metres(let known): metres = known
            case .place(let place):
                let gateway: Place
                if let known = places[key] { gateway = known } else { gateway = try await position(reading.gateway) }
                places[key] = gateway
                metres = Geodesic.distance(
                    fromLatitude: place.latitude, fromLongitude: place.longitude, toLatitude: gateway.latitude,
                    toLongitude: gateway.longitude)
            }
            samples[key, default: []].append(Calibration.Sample(distance: max(metres, 0.1), rssi: reading.rssi))
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
        _ lines: inout TraceLines<[UInt8]>, _ names: [String], _ plan: [String: (x: Double, y: Double)]
    ) throws(CommandFailure) {
        guard let x = names.firstIndex(where: { $0 == "x_m" || $0 == "true_x_m" }),
            let y = names.firstIndex(where: { $0 == "y_m" || $0 == "true_y_m" })
        else { throw .usage("the header has no columns x_m and y_m") }
        var columns: [(column: Int, gateway: String, place: (x: Double, y: Double))] = []
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
                let metres = ((east - place.x) * (east - place.x) + (north - place.y) * (north - place.y)).squareRoot()
                guard metres.isFinite else { continue }
                readings.append((gateway, level, .metres(max(metres, 0.1))))
            }
        }
    }

    /// Where the gateways are, by name.
    private static func plan(_ text: [UInt8]) throws(CommandFailure) -> [String: (x: Double, y: Double)] {
        var lines = TraceLines(text)
        guard let header = lines.next(), let names = CSVTrace.fields(of: header.bytes)?.map({ $0.lowercased() }),
            let gateway = names.firstIndex(where: { $0 == "gateway" || $0 == "anchor" }),
            let x = names.firstIndex(of: "x_m"), let y = names.firstIndex(of: "y_m")
        else { throw .usage("--gateways has no header gateway,x_m,y_m") }
        var plan: [String: (x: Double, y: Double)] = [:]
        while let line = lines.next() {
            guard let fields = CSVTrace.fields(of: line.bytes), fields.count == names.count, let east = Double(fields[x]),
                let north = Double(fields[y])
            else { throw .usage("line \(line.number) of --gateways is not gateway,x_m,y_m") }
            plan[fields[gateway].lowercased()] = (east, north)
        }
        return plan
    }
}
