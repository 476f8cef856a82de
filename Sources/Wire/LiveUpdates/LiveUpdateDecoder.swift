import Ranging

/// Reads the payloads of live topics and normalises their properties.
///
/// It keeps the parser's buffers from one payload to the next, so one decoder belongs to one task at a time.
public final class LiveUpdateDecoder {
    private let parser = JSONParser()
    /// The sightings of the last payload of the domain `proximity` that was read.
    public private(set) var sightings: [Sighting] = []
    /// Where in its properties begins what it says beside them, with its comma, up to the closing brace; nil: it is one sighting.
    public private(set) var sightingExtras: Int?

    /// Bytes of the longest payload that is read.
    public static let payloadBytesMax = 64 * 1024

    public init() {}

    /// Reads one update and appends its normalised properties, a JSON object, to `properties`.
    ///
    /// The known properties of the domain come first, in native types; the others follow as they came. `null` means
    /// that the property is absent. A key that is there twice counts as it was last.
    ///
    /// - Parameters:
    ///   - padded: 64 bytes behind the payload are readable; without it the payload is copied.
    ///   - domain: The last level of the topic, in lower case.
    /// - Throws: `tooLarge` above 64 KiB, else `invalid` with the `field`. `properties` is then as it was.
    public func decode(
        _ payload: UnsafeRawBufferPointer, padded: Bool, domain: String, properties: inout [UInt8]
    ) throws(WireError) -> LiveUpdate {
        guard payload.count <= Self.payloadBytesMax else {
            throw WireError(.tooLarge, "a live update has at most 64 KiB, not \(payload.count) bytes")
        }
        let lengthBefore = properties.count
        var writer = JSONWriter()
        swap(&writer.bytes, &properties)
        defer { swap(&writer.bytes, &properties) }
        do throws(WireError) {
            return try read(payload, padded: padded, domain: domain, into: &writer)
        } catch {
            writer.bytes.removeSubrange(lengthBefore...)
            throw error
        }
    }

    /// Reads one update, as ``decode(_:padded:domain:properties:)`` does, from an array.
    public func decode(_ payload: [UInt8], domain: String, properties: inout [UInt8]) throws(WireError) -> LiveUpdate {
        try payload.withUnsafeBufferPointer { bytes throws(WireError) in
            try decode(UnsafeRawBufferPointer(bytes), padded: false, domain: domain, properties: &properties)
        }
    }

    private func read(
        _ payload: UnsafeRawBufferPointer, padded: Bool, domain: String, into writer: inout JSONWriter
    ) throws(WireError) -> LiveUpdate {
        if payload.first != UInt8(ascii: "{"), let object = BareScalar.object(of: payload, domain: domain) {
            return try object.withUnsafeBufferPointer { bytes throws(WireError) in
                try read(UnsafeRawBufferPointer(bytes), padded: false, domain: domain, into: &writer)
            }
        }
        // The nodes live in the parser, which optimised code might otherwise let go after its last mention.
        defer { withExtendedLifetime(parser) {} }
        let root: JSONNode
        do throws(JSONError) {
            root = try parser.root(of: payload, padded: padded)
        } catch {
            throw PayloadRefusal.of(payload, domain: domain, error)
        }
        guard root.kind == .object else { throw PayloadRefusal.of(root, domain: domain) }
        // Comparing with the frequent name first spares the search through all of them.
        if domain == KnownDomain.position.rawValue { return try PositionReader.read(root, into: &writer) }
        guard let known = KnownDomain(rawValue: domain), known != .presence else {
            return try PropertyReader.readFree(root, into: &writer)
        }
        return switch known {
        case .position: try PositionReader.read(root, into: &writer)
        case .proximity: try readSightings(root, into: &writer)
        default: try PropertyReader.read(root, rules: PropertyRule.rules(of: known), into: &writer)
        }
    }

    private func readSightings(_ root: JSONNode, into writer: inout JSONWriter) throws(WireError) -> LiveUpdate {
        sightings.removeAll(keepingCapacity: true)
        do throws(WireError) {
            return try SightingReader.read(root, into: &writer, sightings: &sightings, extras: &sightingExtras)
        } catch {
            sightings.removeAll(keepingCapacity: true)
            throw error
        }
    }
}
