import LiveTopics
import Selectors
import Wire
import Records

// The rules that several requests share.

extension Parameters {
    func deviceType(_ key: String) throws(WireError) -> DeviceType {
        let word = try word(key, of: DeviceType.allCases.map(\.rawValue))
        guard let type = DeviceType(rawValue: word) else { throw error(key, "names no kind of device") }
        return type
    }

    func name(_ key: String) throws(WireError) -> String? {
        try optionalString(key, characters: 0...256)
    }

    /// At most 25 entries of 1–25 of `[A-Za-z0-9_]`.
    func group(_ key: String) throws(WireError) -> [String]? {
        guard let group = try optionalStrings(key, count: 0...25) else { return nil }
        for entry in group where !(1...25).contains(entry.utf8.count) || !entry.utf8.allSatisfy(Self.isGroupByte) {
            throw error(key, "has entries of 1 to 25 of A-Z a-z 0-9 _", not: .string(entry))
        }
        return group
    }

    private static func isGroupByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// Names of domains, in lower case as they are compared.
    func domains(_ key: String) throws(WireError) -> [String]? {
        guard let domains = try optionalStrings(key, count: 0...256) else { return nil }
        for domain in domains where !Name.isID(domain) { throw error(key, "has names of domains", not: .string(domain)) }
        return domains.map { $0.lowercased() }
    }

    /// The shape of an IANA name, such as `Europe/Monaco` or `Etc/GMT+1`; whether the zone exists is not looked up here.
    func timeZone(_ key: String) throws(WireError) -> String? {
        guard let name = try optionalString(key, characters: 1...64) else { return nil }
        let parts = name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(Self.isZoneByte) }) else {
            throw error(key, "must be the name of an IANA time zone", not: .string(name))
        }
        return name
    }

    private static func isZoneByte(_ byte: UInt8) -> Bool {
        isGroupByte(byte) || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
    }

    func location(_ key: String) throws(WireError) -> LocationCoding.Location? {
        guard let value = value(key) else { return nil }
        return try LocationCoding.decode(value, field: key)
    }

    func beaconIdentity() throws(WireError) -> BeaconIdentity {
        let key = ["proximityUUID", "proximityID", "uuid"].first { value($0) != nil } ?? "proximityUUID"
        let text = try string(key, characters: 1...64)
        guard let uuid = UUIDText.canonical(text) else { throw error(key, "must be a UUID", not: .string(text)) }
        return BeaconIdentity(
            proximityUUID: uuid, major: try integer("major", in: 0...65_535), minor: try integer("minor", in: 0...65_535))
    }

    /// Of a publication.
    func properties(_ key: String) throws(WireError) -> Properties {
        let properties = try PropertiesCoding.decode(value(key))
        try PropertiesCoding.checkLength(properties)
        return properties
    }

    /// Metres.
    func range(_ key: String) throws(WireError) -> Double {
        try number(key, in: 1...5000, unit: "metres")
    }

    /// Seconds; 0 is compared once and not kept.
    func duration(_ key: String) throws(WireError) -> Double {
        try number(key, in: 0..., unit: "seconds")
    }

    /// A stale revision is a conflict; none means that the last writer wins.
    func checkRevision(_ current: String) throws(WireError) {
        guard let revision = try optionalString("revision", characters: 1...128), revision != current else { return }
        throw WireError(.conflict, "`revision` is \(current) by now, not \(revision)", field: "revision")
    }

    func refuse(_ key: String, _ why: String) throws(WireError) {
        if has(key) { throw error(key, "cannot be changed: \(why)") }
    }

    /// One of the words that are the raw values of a choice, nil where it is absent.
    func optionalChoice<Choice: CaseIterable & RawRepresentable>(
        _ key: String
    ) throws(WireError) -> Choice? where Choice.RawValue == String {
        try optionalWord(key, of: Choice.allCases.map(\.rawValue)).flatMap(Choice.init)
    }
}
