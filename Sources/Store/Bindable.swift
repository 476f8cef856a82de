import GRDB
import GRDBSQLite
import Records

/// A value that SQLite can take as a parameter.
///
/// Statements are bound and read through SQLite's own functions: GRDB's argument arrays and rows allocate for each value,
/// which is most of the cost of a restore.
protocol Bindable {
    /// Returns SQLite's result code.
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32
}

/// Has SQLite copy what it is given before the call returns.
private let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

extension String: Bindable {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        var text = self
        return text.withUTF8 { utf8 in
            // The empty string may have no address, and SQLite takes a missing address for NULL.
            guard let start = utf8.baseAddress else { return sqlite3_bind_text(statement, index, "", 0, copied) }
            return start.withMemoryRebound(to: CChar.self, capacity: utf8.count) {
                sqlite3_bind_text64(statement, index, $0, UInt64(utf8.count), copied, UInt8(SQLITE_UTF8))
            }
        }
    }
}

extension Int64: Bindable {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 { sqlite3_bind_int64(statement, index, self) }
}

extension Int: Bindable {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 { sqlite3_bind_int64(statement, index, Int64(self)) }
}

extension Bool: Bindable {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 { sqlite3_bind_int64(statement, index, self ? 1 : 0) }
}

extension Double: Bindable {
    /// SQLite has no NaN: it becomes NULL, and NULL is read as NaN where a number is expected.
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 { sqlite3_bind_double(statement, index, self) }
}

extension [UInt8]: Bindable {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress, !bytes.isEmpty else { return sqlite3_bind_zeroblob(statement, index, 0) }
            return sqlite3_bind_blob64(statement, index, start, UInt64(bytes.count), copied)
        }
    }
}

extension Optional: Bindable where Wrapped: Bindable {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        switch self {
        case .some(let value): value.bind(to: statement, at: index)
        case .none: sqlite3_bind_null(statement, index)
        }
    }
}

/// The row a statement is at. Columns count from 0; valid until the next step.
struct Columns {
    let statement: OpaquePointer

    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_NULL }
    func int64(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }
    func int(_ column: Int32) -> Int { Int(sqlite3_column_int64(statement, column)) }
    func flag(_ column: Int32) -> Bool { sqlite3_column_int64(statement, column) != 0 }
    func double(_ column: Int32) -> Double { isNull(column) ? .nan : sqlite3_column_double(statement, column) }
    func optionalInt64(_ column: Int32) -> Int64? { isNull(column) ? nil : int64(column) }
    func optionalDouble(_ column: Int32) -> Double? { isNull(column) ? nil : sqlite3_column_double(statement, column) }

    func text(_ column: Int32) -> String { String(decoding: utf8(column), as: UTF8.self) }
    func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }

    func bytes(_ column: Int32) -> [UInt8] {
        guard let start = sqlite3_column_blob(statement, column) else { return [] }
        return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column))))
    }
    /// Of a text or of bytes.
    func count(_ column: Int32) -> Int { Int(sqlite3_column_bytes(statement, column)) }
    func optionalBytes(_ column: Int32) -> [UInt8]? { isNull(column) ? nil : bytes(column) }

    fileprivate func utf8(_ column: Int32) -> UnsafeBufferPointer<UInt8> {
        let start = sqlite3_column_text(statement, column)
        return UnsafeBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(statement, column)))
    }
}

extension Field: Bindable {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        switch self {
        case .null: sqlite3_bind_null(statement, index)
        case .integer(let number): number.bind(to: statement, at: index)
        case .real(let number): number.bind(to: statement, at: index)
        case .text(let text): text.bind(to: statement, at: index)
        case .bytes(let bytes): bytes.bind(to: statement, at: index)
        }
    }
}

/// Binds the fields of a record, one parameter after the other.
struct Binder: FieldWriter {
    private let statement: OpaquePointer
    /// Which fields are bound; the others are left out.
    private let bound: Range<Int32>
    private var field: Int32 = 0
    private var parameter: Int32 = 0
    private(set) var code = SQLITE_OK

    init(_ statement: OpaquePointer, _ bound: Range<Int32>) {
        self.statement = statement
        self.bound = bound
    }

    mutating func write(_ value: Int64?) { bind(value) }
    mutating func write(_ value: Double?) { bind(value) }
    mutating func write(_ value: String?) { bind(value) }
    mutating func write(_ value: [UInt8]?) { bind(value) }
    mutating func write(_ value: Field) { bind(value) }

    /// Binds a parameter that is no field.
    mutating func lead(with number: Int64) {
        parameter += 1
        code = number.bind(to: statement, at: parameter)
    }

    private mutating func bind(_ value: some Bindable) {
        if bound.contains(field) {
            parameter += 1
            let result = value.bind(to: statement, at: parameter)
            if result != SQLITE_OK { code = result }
        }
        field += 1
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
    mutating func int64() -> Int64 { row.int64(next()) }
    mutating func double() -> Double { row.double(next()) }
    mutating func text() -> String { row.text(next()) }
    mutating func bytes() -> [UInt8] { row.bytes(next()) }

    mutating func list() throws(MalformedRow) -> [String] {
        guard let list = ListText.decode(row.utf8(next())) else { throw MalformedRow() }
        return list
    }
}

extension Database {
    /// Runs a cached statement that returns nothing.
    func run<each Value: Bindable>(_ sql: String, _ values: repeat each Value) throws {
        try finish(try bound(sql, repeat each values))
    }

    /// Runs a cached statement whose parameters are fields.
    func run(_ sql: String, fields: [Field]) throws {
        try finish(try bound(sql, fields: fields))
    }

    /// Runs a cached statement whose parameters are written by the body.
    ///
    /// - Parameter bound: Which of the fields that the body writes are parameters.
    func run(_ sql: String, _ bound: Range<Int32> = 0..<Int32.max, writing body: (inout Binder) -> Void) throws {
        let statement = try cachedStatement(sql: sql).sqliteStatement
        var binder = Binder(statement, bound)
        body(&binder)
        guard binder.code == SQLITE_OK else { throw failure(binder.code) }
        try finish(statement)
    }

    private func finish(_ statement: OpaquePointer) throws {
        defer { sqlite3_reset(statement) }
        let code = sqlite3_step(statement)
        guard code == SQLITE_DONE || code == SQLITE_ROW else { throw failure(code) }
    }

    /// Steps a cached statement through all its rows; one row is in memory at a time.
    func rows<each Value: Bindable>(_ sql: String, _ values: repeat each Value, visit: (Columns) throws -> Void) throws {
        try step(try bound(sql, repeat each values), visit)
    }

    /// As ``rows(_:_:visit:)``, with fields as parameters.
    func rows(_ sql: String, fields: [Field], visit: (Columns) throws -> Void) throws {
        try step(try bound(sql, fields: fields), visit)
    }

    private func step(_ statement: OpaquePointer, _ visit: (Columns) throws -> Void) throws {
        defer { sqlite3_reset(statement) }
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: try visit(Columns(statement: statement))
            case SQLITE_DONE: return
            case let code: throw failure(code)
            }
        }
    }

    private func bound(_ sql: String, fields: [Field]) throws -> OpaquePointer {
        let statement = try cachedStatement(sql: sql).sqliteStatement
        for (index, field) in fields.enumerated() {
            let code = field.bind(to: statement, at: Int32(index + 1))
            guard code == SQLITE_OK else { throw failure(code) }
        }
        return statement
    }

    /// The cache keeps the statement alive until the connection closes or gives its memory back, never while one runs.
    private func bound<each Value: Bindable>(_ sql: String, _ values: repeat each Value) throws -> OpaquePointer {
        let statement = try cachedStatement(sql: sql).sqliteStatement
        var index: Int32 = 0
        for value in repeat each values {
            index += 1
            let code = value.bind(to: statement, at: index)
            guard code == SQLITE_OK else { throw failure(code) }
        }
        return statement
    }

    private func failure(_ code: Int32) -> DatabaseError {
        DatabaseError(resultCode: ResultCode(rawValue: code), message: lastErrorMessage)
    }
}
