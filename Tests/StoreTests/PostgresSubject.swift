import Foundation
import PostgresServer

@testable import PostgresStore
@testable import Records
@testable import Store

extension PostgresServer {
    /// The one that all tests share, each with a schema of its own.
    static let shared = Result { try PostgresServer() }

    /// A store in a schema of its own, gone afterwards.
    func withStore<Value>(repliesMax: Int = 10_000, _ body: (PostgresStore) throws -> Value) throws -> Value {
        let schema = "test " + UUID().uuidString
        let store = try PostgresStore(url: url, schema: schema, repliesMax: repliesMax)
        defer { store.close() }
        let value = try body(store)
        let connection = try connection(schema)
        try connection.send("DROP SCHEMA \"\(schema)\" CASCADE")
        try connection.finish()
        return value
    }

    func connection(_ schema: String) throws -> Connection {
        let connection = try Connection(url: url)
        try connection.send("SET search_path TO \"\(schema)\"")
        return connection
    }
}

extension PostgresStore: FaultyStore {
    func fill() throws { try refuseWrites(code: "53100", condition: "true", of: Self.tables, name: "full") }

    func makeSpace() throws {
        try administer { connection in
            for table in Self.tables {
                try connection.send("DROP TRIGGER IF EXISTS full_trigger ON \(table)")
                // Each by itself: all in one transaction and a commit beside it would wait for each other.
                try connection.finish()
            }
        }
    }

    func poison() throws {
        let poison = Field.text("poison").literal
        try refuseWrites(code: "P0001", condition: "new.id = \(poison)", of: ["device"], name: "poison")
    }

    func holdingWrites(_ body: () throws -> Void) throws {
        let connection = try PostgresServer.shared.get().connection(schema)
        try connection.send("BEGIN")
        for table in Self.tables { try connection.send("LOCK TABLE \(table) IN SHARE MODE") }
        try connection.finish()
        try body()
        try connection.send("COMMIT")
        try connection.finish()
    }

    private static var tables: [String] { ["probe", "feed", "document"] + Kind.allCases.map { "\"\($0.row.name)\"" } }

    private func refuseWrites(code: String, condition: String, of tables: [String], name: String) throws {
        try administer { connection in
            try connection.send(
                """
                CREATE OR REPLACE FUNCTION \(name)() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN IF \(condition) THEN RAISE EXCEPTION '\(name)' USING ERRCODE = '\(code)'; END IF; RETURN new; END $$
                """)
            for table in tables {
                try connection.send(
                    "CREATE OR REPLACE TRIGGER \(name)_trigger BEFORE INSERT ON \(table) FOR EACH ROW EXECUTE FUNCTION \(name)()")
                try connection.finish()
            }
        }
    }

    private func administer(_ body: (Connection) throws -> Void) throws {
        let connection = try PostgresServer.shared.get().connection(schema)
        try body(connection)
        try connection.finish()
    }
}
