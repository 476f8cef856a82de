/// Why the payload of a live topic is refused as a whole: it is not JSON, or no object, and what its domain takes instead.
enum PayloadRefusal {
    /// Up to this size an error says where an update ceases to be JSON: finding that costs several times the reading.
    private static let explainedBytes = 16 << 10

    /// - Parameter domain: nil where it is not known from the topic alone.
    static func of(_ payload: UnsafeRawBufferPointer, domain: String?, _ error: JSONError) -> WireError {
        guard payload.count <= explainedBytes else { return WireError(error) }
        guard let domain, [.syntax, .number, .string].contains(error), isBare(payload), let fault = JSONFault.find(in: payload)
        else {
            return WireError(error, about: payload)
        }
        return WireError(.invalid, "\(domain) takes \(taken(by: domain)): \(reason(of: fault, in: payload))")
    }

    static func of(_ root: JSONNode, domain: String?) -> WireError {
        guard let domain else { return WireError(.invalid, "the payload must be a JSON object, not \(root.shown)") }
        return WireError(.invalid, "\(domain) takes \(taken(by: domain)), not \(root.shown)")
    }

    /// What the payload of a domain may be, as in `a number such as 22.5 or an object such as {"temperature":22.5}`.
    private static func taken(by domain: String) -> String {
        let object = "an object such as \(object(of: domain))"
        return bare(of: domain).map { "\($0) or \(object)" } ?? object
    }

    private static func bare(of domain: String) -> String? {
        switch KnownDomain(rawValue: domain) {
        case .availability: "true, false, ON, OFF, 1, 0"
        case .temperature: "a number such as 22.5"
        case .humidity: "a number such as 40"
        case .co2: "a number such as 412"
        case .count: "a whole number such as 7"
        case .occupancy: "a whole number such as 3"
        case .position, .proximity, .presence, nil: nil
        }
    }

    /// An example of what is taken.
    static func object(of domain: String) -> String {
        switch KnownDomain(rawValue: domain) {
        case .position: #"{"latitude":43.73,"longitude":7.42}"#
        case .availability: #"{"available":true}"#
        case .temperature: #"{"temperature":22.5}"#
        case .humidity: #"{"humidity":40}"#
        case .co2: #"{"co2":412}"#
        case .count: #"{"count":7}"#
        case .occupancy: #"{"nrOfPeople":3}"#
        case .proximity: #"{"proximityUUID":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E","major":1,"minor":2,"rssi":-60}"#
        case .presence, nil: #"{"value":55}"#
        }
    }

    /// Whether a payload does not begin as an object or an array does: its author did not mean to write JSON.
    private static func isBare(_ payload: UnsafeRawBufferPointer) -> Bool {
        payload.first { $0 > 0x20 }.map { $0 != UInt8(ascii: "{") && $0 != UInt8(ascii: "[") } ?? false
    }

    private static func reason(of fault: JSONFault, in payload: UnsafeRawBufferPointer) -> String {
        let text = String(decoding: payload.prefix(64), as: UTF8.self).trimmingSpace
        let parts = text.drop { $0 == "-" }.split(separator: ",", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { (48...57).contains($0) } }) else {
            return fault.text(in: payload)
        }
        var fault = fault
        fault.reason = "\"\(text)\" has a decimal comma"
        return fault.text(in: payload)
    }
}

extension String {
    fileprivate var trimmingSpace: String {
        String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }
}
