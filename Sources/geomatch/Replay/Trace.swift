/// Recorded movement: points of many devices, put in the order of time.
struct Trace: Equatable {
    struct Point: Equatable {
        /// Milliseconds since 1970 UTC.
        var timestamp: Int64
        /// Index into ``Trace/devices``.
        var device: Int
        var latitude: Double
        var longitude: Double
        /// Metres.
        var altitude: Double?
        var accuracy: Double?
    }

    /// What could not be read, and where.
    struct Refusal: Equatable {
        /// From 1.
        var line: Int
        var reason: String
    }

    private(set) var devices: [String] = []
    private(set) var points: [Point] = []
    private(set) var refusedCount = 0
    /// The first of them.
    private(set) var refusals: [Refusal] = []
    private var places: [[UInt8]: Int] = [:]

    static let shownRefusalsMax = 20

    mutating func add(_ row: TraceRow, line: Int, using reader: TraceRowReader) {
        do throws(TraceRowError) {
            var point = try reader.point(of: row)
            point.device = place(of: row.device ?? "")
            points.append(point)
        } catch {
            refuse(line: line, error.reason)
        }
    }

    mutating func refuse(line: Int, _ reason: String) {
        refusedCount += 1
        if refusals.count < Self.shownRefusalsMax { refusals.append(Refusal(line: line, reason: reason)) }
    }

    /// Points of one instant stay in the order of the file.
    mutating func sort() {
        // The library's sort is stable; an order that is there already costs one pass.
        points.sort { $0.timestamp < $1.timestamp }
    }

    private mutating func place(of device: String) -> Int {
        let key = Array(device.utf8)
        if let known = places[key] { return known }
        places[key] = devices.count
        devices.append(device)
        return devices.count - 1
    }
}

/// The fields of one point as the file has them.
struct TraceRow {
    var device: String?
    var timestamp: String?
    /// What the file calls the timestamp.
    var timestampName = "timestamp"
    var latitude: String?
    var longitude: String?
    var altitude: String?
    var accuracy: String?
}

/// Why a row is no point.
struct TraceRowError: Error, Equatable {
    var reason: String
}
