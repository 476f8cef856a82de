/// Writes compact JSON: UTF-8, no white space, only the escapes JSON demands.
///
/// It puts the commas itself; that a key comes before each value of an object, and that what is begun is ended, is
/// the caller's part.
public struct JSONWriter {
    public var bytes: [UInt8]
    private var needsComma = false

    public init(bytes: [UInt8] = []) {
        self.bytes = bytes
    }

    /// One object, whose members `write` writes.
    public static func object(_ write: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        write(&writer)
        writer.endObject()
        return writer.bytes
    }

    public mutating func beginObject() { begin(UInt8(ascii: "{")) }
    public mutating func endObject() { end(UInt8(ascii: "}")) }
    public mutating func beginArray() { begin(UInt8(ascii: "[")) }
    public mutating func endArray() { end(UInt8(ascii: "]")) }

    public mutating func key(_ name: String) {
        separate()
        quote(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    public mutating func string(_ text: String) {
        separate()
        quote(text)
    }

    public mutating func integer(_ value: Int64) {
        separate()
        appendDecimal(value)
    }

    public mutating func integer(_ value: Int) {
        integer(Int64(value))
    }

    /// The shortest form that reads back as the same double: a whole one below 2^53 like an integer, `null` for one
    /// that is not finite, which JSON cannot say.
    public mutating func double(_ value: Double) {
        separate()
        appendDecimal(value)
    }

    public mutating func bool(_ value: Bool) {
        literal(value ? "true" : "false")
    }

    public mutating func null() {
        literal("null")
    }

    /// One value that is JSON already.
    public mutating func raw(_ json: some Collection<UInt8>) {
        separate()
        bytes.append(contentsOf: json)
    }

    public mutating func value(_ value: JSONValue) {
        switch value {
        case .null: null()
        case .bool(let value): bool(value)
        case .integer(let value): integer(value)
        case .double(let value): double(value)
        case .string(let text): string(text)
        case .array(let elements):
            beginArray()
            for element in elements { self.value(element) }
            endArray()
        case .object(let object): self.object(object)
        }
    }

    public mutating func object(_ object: JSONObject) {
        beginObject()
        for member in object.members {
            key(member.key)
            value(member.value)
        }
        endObject()
    }

    /// A key that is known to need no escape.
    @inline(__always)
    mutating func key(plain name: StaticString) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        append(name)
        append("\":")
        needsComma = false
    }

    mutating func string(utf8 text: UnsafeBufferPointer<UInt8>) {
        separate()
        quote(text)
    }

    mutating func key(utf8 name: UnsafeBufferPointer<UInt8>) {
        separate()
        quote(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// One value that is JSON already, without the detour through a generic collection.
    mutating func raw(bytes json: UnsafeBufferPointer<UInt8>) {
        separate()
        bytes.append(contentsOf: json)
    }

    private mutating func literal(_ text: StaticString) {
        separate()
        append(text)
    }

    @inline(__always)
    private mutating func append(_ text: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    private mutating func begin(_ byte: UInt8) {
        separate()
        bytes.append(byte)
        needsComma = false
    }

    private mutating func end(_ byte: UInt8) {
        bytes.append(byte)
        needsComma = true
    }

    @inline(__always)
    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }
}
