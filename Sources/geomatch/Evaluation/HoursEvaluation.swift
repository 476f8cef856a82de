import Geodesy
import OpeningHours
import Wire

/// Opening hours between two times. The last hours are kept: scripts try one at many times.
struct HoursEvaluation: Evaluation {
    /// What is listed at most, so that an answer has an end.
    static let daysMax = 3660

    private var last: (text: String, hours: OpeningHours)?

    mutating func result(of arguments: JSONObject) throws(WireError) -> JSONValue {
        let hours = hours(try text("value", in: arguments))
        let from = try time("from", in: arguments)
        let to = try time("to", in: arguments)
        guard from <= to else { throw WireError(.invalid, "`to` must not be before `from`", field: "to") }
        guard to.day - from.day <= Self.daysMax else {
            throw WireError(.invalid, "`to` must be at most \(Self.daysMax) days after `from`", field: "to")
        }
        let context = try context(arguments)
        let intervals = hours.intervals(from: from, to: to, in: context).map { interval in
            var members: [(String, JSONValue)] = [
                ("from", .string(interval.from.description)), ("to", .string(interval.to.description)),
                ("state", .string(interval.state == .open ? "open" : "unknown")),
            ]
            if let comment = interval.comment { members.append(("comment", .string(comment))) }
            return JSONValue.object(JSONObject(members))
        }
        return [
            "intervals": .array(intervals), "normalised": .string(hours.normalised),
            "warnings": .array(hours.warnings(in: context).map { .string($0) }),
        ]
    }

    private mutating func hours(_ text: String) -> OpeningHours {
        if let last, last.text.utf8.elementsEqual(text.utf8) { return last.hours }
        let hours = OpeningHours(text)
        last = (text, hours)
        return hours
    }

    private func context(_ arguments: JSONObject) throws(WireError) -> HoursContext {
        let place = try coordinates(arguments)
        return HoursContext(
            zone: try zone(arguments), latitude: place?.latitude, longitude: place?.longitude,
            publicHolidays: DayRanges(
                days: try list("ph", in: arguments).map { element throws(WireError) in try date(element, "ph") }),
            schoolHolidays: DayRanges(try list("sh", in: arguments).map { element throws(WireError) in try range(element) }))
    }

    // MARK: - Arguments

    private func time(_ key: String, in arguments: JSONObject) throws(WireError) -> LocalTime {
        let text = try text(key, in: arguments)
        guard let time = LocalTime(text) else {
            throw WireError(.invalid, "`\(key)` must be a time YYYY-MM-DDTHH:MM, not `\(Self.shown(text))`", field: key)
        }
        return time
    }

    private func zone(_ arguments: JSONObject) throws(WireError) -> Zone {
        guard arguments["zone"] ?? .null != .null else { return .utc }
        let text = try text("zone", in: arguments)
        guard let zone = Zone.named(text) else {
            throw WireError(.invalid, "`zone` must be a time zone of the IANA database, not `\(Self.shown(text))`", field: "zone")
        }
        return zone
    }

    private func coordinates(_ arguments: JSONObject) throws(WireError) -> (latitude: Double, longitude: Double)? {
        let given = (arguments["latitude"] ?? .null, arguments["longitude"] ?? .null)
        if given == (.null, .null) { return nil }
        let key = given.0 == .null || given.0.asDouble == nil ? "latitude" : "longitude"
        guard let latitude = given.0.asDouble, let longitude = given.1.asDouble else {
            throw WireError(.invalid, "`latitude` and `longitude` must be two numbers", field: key)
        }
        guard Position.isValid(latitude: latitude, longitude: longitude) else {
            throw WireError(
                .invalid, "`latitude` must be from -90 to 90 and `longitude` from -180 to 180",
                field: latitude.magnitude <= 90 ? "longitude" : "latitude")
        }
        return (latitude, longitude)
    }

    private func list(_ key: String, in arguments: JSONObject) throws(WireError) -> [JSONValue] {
        let value = arguments[key] ?? .null
        if value == .null { return [] }
        guard let list = value.asArray else { throw WireError(.invalid, "`\(key)` must be an array", field: key) }
        return list
    }

    private func date(_ value: JSONValue, _ key: String) throws(WireError) -> Int {
        guard let text = value.asString, let date = LocalTime.date(text) else {
            let shown = value.asString ?? String(decoding: value.serialised(), as: UTF8.self)
            throw WireError(.invalid, "`\(key)` must hold dates YYYY-MM-DD, not `\(Self.shown(shown))`", field: key)
        }
        return date.number
    }

    private func range(_ value: JSONValue) throws(WireError) -> ClosedRange<Int> {
        guard let ends = value.asArray, ends.count == 2 else {
            throw WireError(.invalid, "`sh` must hold ranges [from,to] of dates YYYY-MM-DD", field: "sh")
        }
        let from = try date(ends[0], "sh")
        let to = try date(ends[1], "sh")
        guard from <= to else { throw WireError(.invalid, "a range in `sh` ends before it begins", field: "sh") }
        return from...to
    }

    private static func shown(_ text: String) -> String {
        text.count <= 40 ? text : text.prefix(40) + "…"
    }
}
