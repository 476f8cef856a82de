import GRDB
import Records

// Venues, buildings, floors, rooms and locations.

extension Store {
    /// A path is known once: the parents stand in it as a list, since an id may hold any character.
    static func registerStructure(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("structure") { db in
            try db.execute(
                sql: """
                    CREATE TABLE structure (
                        row INTEGER PRIMARY KEY, dataset TEXT NOT NULL, level TEXT NOT NULL, parents TEXT NOT NULL, id TEXT NOT NULL,
                        name TEXT, floorIndex INTEGER, capacity INTEGER, geometry TEXT
                    ) STRICT;
                    CREATE UNIQUE INDEX structureByKey ON structure (dataset, level, parents, id);
                    """)
        }
    }

    static func put(_ record: StructureRecord, _ db: Database) throws {
        try db.run(
            Table.structure.upsert,
            record.dataset, record.level.rawValue, ListText.encode(record.parents), record.id, record.name, record.floorIndex,
            record.capacity, record.geometry)
    }
}

extension StructureRecord {
    /// The columns of ``Table/structure``, in order.
    init(_ row: Columns) throws {
        guard let level = StructureLevel(rawValue: row.text(1)) else { throw StoreError.corrupt }
        self.init(
            dataset: row.text(0), level: level, parents: try row.list(2), id: row.text(3), name: row.optionalText(4),
            floorIndex: row.optionalInt64(5).map { Int($0) }, capacity: row.optionalInt64(6).map { Int($0) },
            geometry: row.optionalText(7))
    }
}
