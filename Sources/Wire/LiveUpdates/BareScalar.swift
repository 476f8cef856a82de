/// Payloads that are one value and no object: `21.5`, `true`, `ON`.
enum BareScalar {
    /// The object that is meant by a payload on a topic of a domain with one required property; nil for any other payload.
    static func object(of payload: UnsafeRawBufferPointer, domain: String) -> [UInt8]? {
        guard payload.count <= lengthMax, let property = property(of: domain) else { return nil }
        let space: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]
        let text = payload.drop { space.contains($0) }.reversed().drop { space.contains($0) }.reversed()
        var bytes = Array(text)
        // In JSON, as in a batch over HTTP, `ON` is a string.
        if bytes.count > 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\"") {
            bytes = Array(bytes[1..<bytes.count - 1])
        }
        guard !bytes.isEmpty else { return nil }
        let value: [UInt8]
        if domain == KnownDomain.availability.rawValue {
            guard let truth = truths[String(decoding: bytes, as: UTF8.self)] else { return nil }
            value = Array((truth ? "true" : "false").utf8)
        } else {
            // What is no number of JSON is refused as it was sent.
            guard bytes.allSatisfy(isNumeral), bytes.withUnsafeBytes({ JSONFault.find(in: $0) }) == nil else { return nil }
            value = bytes
        }
        return Array("{\"\(property)\":".utf8) + value + [UInt8(ascii: "}")]
    }

    private static let lengthMax = 64
    private static let truths = ["true": true, "false": false, "ON": true, "OFF": false, "1": true, "0": false]

    private static func property(of domain: String) -> String? {
        switch KnownDomain(rawValue: domain) {
        case .temperature, .humidity, .co2, .count: domain
        case .occupancy: "nrOfPeople"
        case .availability: "available"
        case .position, .proximity, .presence, nil: nil
        }
    }

    private static func isNumeral(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "e"),
            UInt8(ascii: "E"):
            true
        default: false
        }
    }
}
