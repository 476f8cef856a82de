/// What one field of a record holds, as a store sees it. Texts are compared by their bytes.
public enum Field: Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case bytes([UInt8])
}

extension Field: Hashable {
    public static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.integer(let left), .integer(let right)): left == right
        case (.real(let left), .real(let right)): left.bitPattern == right.bitPattern
        case (.text(let left), .text(let right)): left.hasSameBytes(as: right)
        case (.bytes(let left), .bytes(let right)): left == right
        default: false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .integer(let number): hasher.combine(number)
        case .real(let number): hasher.combine(number.bitPattern)
        case .text(let text): text.withBytes { hasher.combine(bytes: $0) }
        case .bytes(let bytes): hasher.combine(bytes)
        }
    }
}

/// Where a record writes its fields, in the order of its kind's columns.
public protocol FieldWriter {
    mutating func write(_ value: Int64?)
    /// A number that is none is written as nothing.
    mutating func write(_ value: Double?)
    mutating func write(_ value: String?)
    mutating func write(_ value: [UInt8]?)
}

extension FieldWriter {
    public mutating func write(_ value: Int?) { write(value.map { Int64($0) }) }
    public mutating func write(_ value: Bool?) { write(value.map { $0 ? 1 : 0 as Int64 }) }
    public mutating func write(list: [String]?) { write(list.map(ListText.encode)) }
}

/// Where a record reads its fields, in the order of its kind's columns.
public protocol FieldReader {
    /// The next field holds nothing.
    var isNull: Bool { get }
    mutating func skip()
    /// 0 for nothing.
    mutating func int64() -> Int64
    /// No number for nothing.
    mutating func double() -> Double
    /// Empty for nothing.
    mutating func text() -> String
    /// Empty for nothing.
    mutating func bytes() -> [UInt8]
    mutating func list() throws(MalformedRow) -> [String]
}

extension FieldReader {
    public mutating func int() -> Int { Int(int64()) }
    public mutating func flag() -> Bool { int64() != 0 }
    public mutating func optionalInt64() -> Int64? { isNull ? skipped() : int64() }
    public mutating func optionalInt() -> Int? { isNull ? skipped() : int() }
    public mutating func optionalFlag() -> Bool? { isNull ? skipped() : flag() }
    public mutating func optionalDouble() -> Double? { isNull ? skipped() : double() }
    public mutating func optionalText() -> String? { isNull ? skipped() : text() }
    public mutating func optionalBytes() -> [UInt8]? { isNull ? skipped() : bytes() }
    public mutating func optionalList() throws(MalformedRow) -> [String]? { isNull ? skipped() : try list() }

    /// One of a closed set of words.
    public mutating func word<Word: RawRepresentable<String>>() throws(MalformedRow) -> Word {
        guard let word = Word(rawValue: text()) else { throw MalformedRow() }
        return word
    }

    private mutating func skipped<Value>() -> Value? {
        skip()
        return nil
    }
}

/// A row is none that this program wrote.
public struct MalformedRow: Error, Equatable {
    package init() {}
}

/// Collects the fields of a record.
package struct FieldCollector: FieldWriter {
    package private(set) var fields: [Field] = []
    private let countMax: Int

    /// - Parameter countMax: Only the first so many.
    package init(_ countMax: Int = .max) { self.countMax = countMax }

    package mutating func write(_ value: Int64?) { append(value.map { .integer($0) }) }
    package mutating func write(_ value: Double?) { append(value.flatMap { $0.isNaN ? nil : .real($0) }) }
    package mutating func write(_ value: String?) { append(value.map { .text($0) }) }
    package mutating func write(_ value: [UInt8]?) { append(value.map { .bytes($0) }) }

    private mutating func append(_ field: Field?) {
        if fields.count < countMax { fields.append(field ?? .null) }
    }
}

/// Reads collected fields.
package struct CollectedFields: FieldReader {
    private let fields: [Field]
    private var index = 0

    package init(_ fields: [Field]) { self.fields = fields }

    private mutating func next() -> Field {
        defer { index += 1 }
        return index < fields.count ? fields[index] : .null
    }

    package var isNull: Bool { index < fields.count ? fields[index] == .null : true }
    package mutating func skip() { index += 1 }
    package mutating func int64() -> Int64 { if case .integer(let number) = next() { number } else { 0 } }
    package mutating func double() -> Double { if case .real(let number) = next() { number } else { .nan } }
    package mutating func text() -> String { if case .text(let text) = next() { text } else { "" } }
    package mutating func bytes() -> [UInt8] { if case .bytes(let bytes) = next() { bytes } else { [] } }

    package mutating func list() throws(MalformedRow) -> [String] {
        var text = text()
        guard let list = text.withUTF8({ ListText.decode($0) }) else { throw MalformedRow() }
        return list
    }
}
