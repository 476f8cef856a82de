import Wire

/// What a live subscription has reported so far: the newest update of each topic that has not left.
struct LiveRows {
    struct Row: Equatable {
        /// The topic's levels, as they are encoded.
        var levels: [String]
        /// The message.
        var payload: [UInt8]
        /// Milliseconds since 1970 UTC, of the event and of its arrival here.
        var timestamp: Int64
        var seenAt: Int64
    }

    /// What a message did.
    enum Change: Equatable {
        case updated, left
        /// It is no live update, or there are too many rows already.
        case none
    }

    static let countMax = 100_000

    private var rows: [[UInt8]: Row] = [:]
    /// Topics beyond the bound, or not; updates of them pass by.
    private(set) var isFull = false

    var count: Int { rows.count }
    /// In no order.
    var all: some Collection<Row> { rows.values }

    mutating func apply(_ payload: UnsafeRawBufferPointer, now: Int64) -> Change {
        guard let update = (try? JSONValue.parse(payload))?.asObject, let topic = update["topic"]?.asString else { return .none }
        let key = Array(topic.utf8)
        if update["left"]?.asBool == true { return rows.removeValue(forKey: key) == nil ? .none : .left }
        let known = rows[key]
        guard known != nil || rows.count < Self.countMax else {
            isFull = true
            return .none
        }
        rows[key] = Row(
            levels: known?.levels ?? topic.split(separator: "/", omittingEmptySubsequences: false).map(String.init),
            payload: Array(payload), timestamp: update["timestamp"]?.asInt64 ?? now, seenAt: now)
        return .updated
    }

    /// Takes a row out, of a topic as it is encoded.
    mutating func remove(_ topic: String) -> Row? { rows.removeValue(forKey: Array(topic.utf8)) }
}

extension LiveRows.Row {
    /// The message as the daemon would have said that the object left.
    var leftMessage: [UInt8] { payload.dropLast() + Array(",\"left\":true}".utf8) }

    /// The properties for a line: `available false`, `co2 421 ppm`, degrees of a position to about a metre.
    var text: String {
        guard let update = (try? JSONValue.parse(payload))?.asObject else { return "" }
        let members = update["properties"]?.asObject?.members ?? []
        let text = members.map { "\(PlainText.printable($0.key)) \(shown($0.value, of: $0.key))" }.joined(separator: "  ")
        return update["derived"]?.asBool == true ? text + "  (derived)" : text
    }

    private func shown(_ value: JSONValue, of name: String) -> String {
        guard let number = value.asDouble, let unit = Self.units[levels.last ?? ""]?[name] else { return PlainText.of(value) }
        return unit == "°" && name != "course" ? PlainText.decimal(number, 5) : PlainText.of(value) + unit
    }

    /// Of the domains that are known.
    private static let units = [
        "position": [
            "latitude": "°", "longitude": "°", "course": "°", "altitude": " m", "horizontalAccuracy": " m",
            "verticalAccuracy": " m", "speed": " m/s",
        ],
        "temperature": ["temperature": " °C"], "co2": ["co2": " ppm"], "humidity": ["humidity": " %"],
    ]
}
