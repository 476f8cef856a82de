import CPostgres
import Records

/// A value that PostgreSQL takes as a parameter, in its binary form.
enum Value {
    /// A field of a record, in a column of bytes: see ``Field/stored``.
    case field(Field)
    case number(Int64)
    case flag(Bool)
    /// As they are.
    case bytes([UInt8]?)
    /// A column of fields, one for each row.
    case fields([Field])
    /// The same of numbers, and of PostgreSQL's texts.
    case numbers([Int64])
    case words([String?])

    static func optionalNumber(_ number: Int64?) -> Self { .bytes(number.map { bigEndian(UInt64(bitPattern: $0)) }) }
    static func text(_ text: String) -> Self { .field(.text(text)) }
    static func text(_ text: String?) -> Self { .field(text.map { .text($0) } ?? .null) }
    /// Of PostgreSQL's type `text`.
    static func word(_ word: String?) -> Self { .bytes(word.map { Array($0.utf8) }) }

    /// nil for nothing.
    var encoded: [UInt8]? {
        switch self {
        case .field(let field): field.stored
        case .number(let number): Self.bigEndian(UInt64(bitPattern: number))
        case .flag(let flag): [flag ? 1 : 0]
        case .bytes(let bytes): bytes
        case .fields(let fields): Self.array(of: 17 /* bytea */, fields.map(\.stored))
        case .numbers(let numbers): Self.array(of: 20 /* bigint */, numbers.map { Self.bigEndian(UInt64(bitPattern: $0)) })
        case .words(let words): Self.array(of: 25 /* text */, words.map { $0.map { Array($0.utf8) } })
        }
    }

    static func bigEndian(_ bits: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: bits.bigEndian) { Array($0) } }

    /// An array of one dimension in PostgreSQL's binary form, see `array_recv` in its sources.
    private static func array(of type: Int32, _ elements: [[UInt8]?]) -> [UInt8] {
        let (dimensions, hasNull) = (elements.isEmpty ? 0 : 1, elements.contains { $0 == nil } ? 1 : 0)
        var bytes = bigEndian(Int32(dimensions)) + bigEndian(Int32(hasNull)) + bigEndian(type)
        if !elements.isEmpty { bytes += bigEndian(Int32(elements.count)) + bigEndian(Int32(1)) }
        for element in elements {
            bytes += bigEndian(Int32(element?.count ?? -1)) + (element ?? [])
        }
        return bytes
    }
}

extension Field {
    /// The bytes of its column: what it is, and its value so that whole numbers are in their order.
    ///
    /// All columns of records are bytes: a text may hold the character 0, which PostgreSQL's texts may not, and names are compared by
    /// their bytes and not by a language's rules.
    var stored: [UInt8]? {
        switch self {
        case .null: nil
        case .integer(let number): [1] + Value.bigEndian(UInt64(bitPattern: number) ^ (1 << 63))
        case .real(let number): [2] + Value.bigEndian(number.bitPattern)
        case .text(let text): [3] + Array(text.utf8)
        case .bytes(let bytes): [4] + bytes
        }
    }

    /// As it is written in a statement.
    var literal: String {
        let digits = (stored ?? []).map { byte in
            let text = String(byte, radix: 16)
            return text.count == 1 ? "0" + text : text
        }
        return "'\\x\(digits.joined())'::bytea"
    }
}

/// One row of an answer. Columns count from 0; valid until the next row.
struct Columns {
    let result: OpaquePointer
    let row: Int32

    func isNull(_ column: Int32) -> Bool { PQgetisnull(result, row, column) != 0 }

    fileprivate func raw(_ column: Int32) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: PQgetvalue(result, row, column), count: Int(PQgetlength(result, row, column)))
    }

    /// Of a column of PostgreSQL's `bigint`.
    func number(_ column: Int32) -> Int64 {
        let raw = raw(column)
        return raw.count == 8 ? Int64(bigEndian: raw.loadUnaligned(as: Int64.self)) : 0
    }

    /// Of a column of PostgreSQL's `boolean`.
    func flag(_ column: Int32) -> Bool { raw(column).first == 1 }

    func count(_ column: Int32) -> Int { raw(column).count }
    func bytes(_ column: Int32) -> [UInt8] { Array(raw(column)) }
    func optionalBytes(_ column: Int32) -> [UInt8]? { isNull(column) ? nil : bytes(column) }

    /// Of a column of PostgreSQL's `text`.
    func word(_ column: Int32) -> String { String(decoding: raw(column), as: UTF8.self) }
    func optionalWord(_ column: Int32) -> String? { isNull(column) ? nil : word(column) }

    /// Of a column of fields.
    func text(_ column: Int32) -> String { String(decoding: value(column), as: UTF8.self) }
    func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }
    func integer(_ column: Int32) -> Int64 { Int64(bitPattern: bits(column) ^ (1 << 63)) }

    /// Behind the byte that says what it is.
    fileprivate func value(_ column: Int32) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: raw(column).dropFirst())
    }

    fileprivate func bits(_ column: Int32) -> UInt64 {
        let value = value(column)
        return value.count == 8 ? UInt64(bigEndian: value.loadUnaligned(as: UInt64.self)) : 0
    }
}

/// Reads the fields of a record, one column after the other.
struct RowReader: FieldReader {
    private let row: Columns
    private var column: Int32 = 0

    init(_ row: Columns) { self.row = row }

    private mutating func next() -> Int32 {
        defer { column += 1 }
        return column
    }

    var isNull: Bool { row.isNull(column) }
    mutating func skip() { column += 1 }

    mutating func int64() -> Int64 {
        let column = next()
        return row.isNull(column) ? 0 : row.integer(column)
    }

    mutating func double() -> Double {
        let column = next()
        return row.isNull(column) ? .nan : Double(bitPattern: row.bits(column))
    }

    mutating func text() -> String { row.text(next()) }
    mutating func bytes() -> [UInt8] { Array(row.value(next())) }

    mutating func list() throws(MalformedRow) -> [String] {
        guard let list = ListText.decode(row.value(next()).assumingMemoryBound(to: UInt8.self)) else { throw MalformedRow() }
        return list
    }
}
