import CPostgres
import Glibc
import Store

/// A connection to PostgreSQL that sends statements without waiting for the answers of those before.
///
/// One thread at a time uses it. Once anything failed it is closed, which takes back what was not committed, and another one is made.
final class Connection {
    private let handle: OpaquePointer
    /// The names of the statements that the server knows.
    private var prepared: [String: String] = [:]
    /// How many answers have not been read.
    private var unread = 0
    /// Of so many statements the answers are read in between, so that they do not pile up.
    private static let unreadMax = 512

    /// - Parameter url: As libpq takes it: `postgres://user:password@host:port,host/database?options`.
    init(url: String) throws(StoreError) {
        // What is in the address goes before these; what follows it does not.
        let before = [
            ("application_name", "geomatchd"), ("connect_timeout", "3"), ("keepalives_idle", "5"), ("keepalives_interval", "2"),
            ("keepalives_count", "3"), ("tcp_user_timeout", "8000"),
        ]
        let parameters = before + [("dbname", url), ("target_session_attrs", "read-write"), ("client_encoding", "UTF8")]
        let handle = Self.withStrings(parameters.map(\.0)) { names in
            Self.withStrings(parameters.map(\.1)) { values in PQconnectdbParams(names, values, 1) }
        }
        guard let handle else { throw .other("no memory for a connection") }
        self.handle = handle
        guard PQstatus(handle) == CONNECTION_OK else { throw .unreachable(Self.plain(PQerrorMessage(handle))) }
        guard PQserverVersion(handle) >= 150_000 else { throw .other("PostgreSQL 15 or newer is needed") }
        // What is there already need not be said.
        PQsetNoticeProcessor(handle, { _, _ in }, nil)
        PQenterPipelineMode(handle)
    }

    deinit { PQfinish(handle) }

    private static func withStrings<Result>(
        _ texts: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
    ) -> Result {
        let copies = texts.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        return (copies.map { UnsafePointer<CChar>($0) } + [nil]).withUnsafeBufferPointer { pointers in
            guard let start = pointers.baseAddress else { preconditionFailure("an array with an element has an address") }
            return body(start)
        }
    }

    // MARK: Statements

    /// Sends a statement; what goes wrong is thrown by a later call.
    func send(_ sql: String, _ values: [Value] = []) throws(StoreError) {
        // Before, never behind: the answer to this one may be what the caller reads.
        if unread >= Self.unreadMax { try finish() }
        let name: String
        if let known = prepared[sql] {
            name = known
        } else {
            name = "s\(prepared.count)"
            guard PQsendPrepare(handle, name, sql, 0, nil) == 1 else { throw lost() }
            prepared[sql] = name
            unread += 1
        }
        guard execute(name, values) else { throw lost() }
        unread += 1
    }

    private func execute(_ name: String, _ values: [Value]) -> Bool {
        var bytes: [UInt8] = []
        var lengths: [Int32] = []
        var isNull: [Bool] = []
        for value in values {
            let encoded = value.encoded
            lengths.append(Int32(encoded?.count ?? 0))
            isNull.append(encoded == nil)
            // A value of no bytes has an address, too: without one it would be nothing.
            bytes += (encoded ?? []) + [0]
        }
        let formats = [Int32](repeating: 1, count: values.count)
        return bytes.withUnsafeBufferPointer { buffer in
            var offset = 0
            let pointers = zip(lengths, isNull).map { length, isNull -> UnsafePointer<CChar>? in
                defer { offset += Int(length) + 1 }
                guard !isNull, let start = buffer.baseAddress else { return nil }
                return UnsafeRawPointer(start + offset).assumingMemoryBound(to: CChar.self)
            }
            return PQsendQueryPrepared(handle, name, Int32(values.count), pointers, lengths, formats, 1) == 1
        }
    }

    /// Reads the answers of all that was sent; the first failure is thrown once all are read.
    func finish() throws(StoreError) { try read { _ in } }

    /// Sends a statement and gives the rows of its answer, and throws what went wrong with it or one sent before.
    func rows(_ sql: String, _ values: [Value] = [], visit: (Columns) throws -> Void) throws {
        try send(sql, values)
        var thrown: (any Error)?
        try read { result in
            guard thrown == nil else { return }
            do {
                for row in 0..<PQntuples(result) { try visit(Columns(result: result, row: row)) }
            } catch {
                thrown = error
            }
        }
        if let thrown { throw thrown }
    }

    /// Sends a statement again and again, and gives the rows of each answer while the server is at the next one, until one has fewer rows.
    func rows(repeating sql: String, whileThereAre count: Int, visit: (Columns) throws -> Void) throws {
        try finish()
        try send(sql)
        try synchronise()
        var thrown: (any Error)?
        var isLast = false
        repeat {
            try send(sql)
            try synchronise()
            var found = 0
            try readToSync { result in
                found += Int(PQntuples(result))
                guard thrown == nil else { return }
                do {
                    for row in 0..<PQntuples(result) { try visit(Columns(result: result, row: row)) }
                } catch {
                    thrown = error
                }
            }
            unread = 0
            isLast = found < count
        } while !isLast && thrown == nil
        // The one that was sent ahead finds nothing, or nobody wants what it finds.
        try readToSync { _ in }
        unread = 0
        if let thrown { throw thrown }
    }

    private func synchronise() throws(StoreError) {
        guard PQpipelineSync(handle) == 1 else { throw lost() }
    }

    /// - Parameter visit: Gets an answer that has columns.
    private func read(_ visit: (OpaquePointer) -> Void) throws(StoreError) {
        try synchronise()
        try readToSync(visit)
        unread = 0
    }

    private func readToSync(_ visit: (OpaquePointer) -> Void) throws(StoreError) {
        var failure: StoreError?
        var silences = 0
        reading: while true {
            guard let result = PQgetResult(handle) else {
                // One follows each answer; two mean that nothing is left to come.
                silences += 1
                if silences > 1 || PQstatus(handle) == CONNECTION_BAD { throw failure ?? lost() }
                continue
            }
            silences = 0
            defer { PQclear(result) }
            switch PQresultStatus(result) {
            case PGRES_PIPELINE_SYNC: break reading
            case PGRES_TUPLES_OK: visit(result)
            case PGRES_COMMAND_OK: break
            case PGRES_PIPELINE_ABORTED: break
            default: failure = failure ?? self.failure(of: result)
            }
        }
        if let failure { throw failure }
    }

    // MARK: What goes wrong

    private func lost() -> StoreError {
        .unreachable(Self.plain(PQerrorMessage(handle)))
    }

    /// Whether the server is seen to be gone, without asking it. What it said last comes before its end.
    var isCutOff: Bool {
        PQconsumeInput(handle) == 0 || PQconsumeInput(handle) == 0 || PQstatus(handle) == CONNECTION_BAD
    }

    private func failure(of result: OpaquePointer) -> StoreError {
        let message = PQresultErrorField(result, 77 /* PG_DIAG_MESSAGE_PRIMARY */).map { String(cString: $0) } ?? ""
        guard let code = PQresultErrorField(result, 67 /* PG_DIAG_SQLSTATE */).map({ String(cString: $0) }) else { return lost() }
        return StoreError(code: code, message: message)
    }

    /// libpq's words in one line; they never have the password.
    private static func plain(_ message: UnsafeMutablePointer<CChar>?) -> String {
        let text = message.map { String(cString: $0) } ?? "no reason given"
        return text.split(whereSeparator: \.isNewline).joined(separator: "; ")
    }
}

extension StoreError {
    /// The one place where PostgreSQL's codes become ours.
    init(code: String, message: String) {
        switch code.prefix(2) {
        case "57" where code == "57014": self = .busy
        // One that cannot be written any more has a successor somewhere.
        case "08", "25", "57": self = .unreachable("PostgreSQL: \(message)")
        // Only the fence of a shard divides, see ``PostgresShard``.
        case "22" where code == "22012": self = .fenced
        case "28", "3D": self = .unwritable("PostgreSQL: \(message)")
        case "42" where code == "42501": self = .unwritable("PostgreSQL: \(message)")
        case "53": self = .full
        case "40", "55": self = .busy
        case "XX" where code != "XX000": self = .other("PostgreSQL is damaged: \(message)")
        default: self = .other("\(message) (PostgreSQL \(code))")
        }
    }
}
