import GRDB
import GRDBSQLite

/// A value that SQLite can take as a parameter.
///
/// Statements are bound and read through SQLite's own functions: GRDB's argument arrays and rows allocate for each value,
/// which is most of the cost of a restore.
protocol Bindable {
    /// Returns SQLite's result code.
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32
}

/// Tells SQLite to copy what it is given before the call returns.
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

/// The row a statement stands on. Columns count from 0; valid until the next step.
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
    func optionalBytes(_ column: Int32) -> [UInt8]? { isNull(column) ? nil : bytes(column) }

    /// - Throws: ``StoreError/corrupt`` where the column holds no list.
    func list(_ column: Int32) throws -> [String] {
        guard let list = ListText.decode(utf8(column)) else { throw StoreError.corrupt }
        return list
    }
    func optionalList(_ column: Int32) throws -> [String]? { isNull(column) ? nil : try list(column) }

    private func utf8(_ column: Int32) -> UnsafeBufferPointer<UInt8> {
        let start = sqlite3_column_text(statement, column)
        return UnsafeBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(statement, column)))
    }
}

extension Database {
    /// Runs a cached statement that returns nothing.
    func run<each Value: Bindable>(_ sql: String, _ values: repeat each Value) throws {
        let statement = try bound(sql, repeat each values)
        defer { sqlite3_reset(statement) }
        let code = sqlite3_step(statement)
        guard code == SQLITE_DONE || code == SQLITE_ROW else { throw failure(code) }
    }

    /// Steps a cached statement through all its rows; one row is in memory at a time.
    func rows<each Value: Bindable>(_ sql: String, _ values: repeat each Value, visit: (Columns) throws -> Void) throws {
        let statement = try bound(sql, repeat each values)
        defer { sqlite3_reset(statement) }
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: try visit(Columns(statement: statement))
            case SQLITE_DONE: return
            case let code: throw failure(code)
            }
        }
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
