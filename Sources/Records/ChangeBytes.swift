/// Durable changes as bytes: what the owner of a shard leaves for its next owner.
///
/// A number of changes, each: a letter, the name of its kind, how many fields there are, and these. Fields beyond those that a reader
/// knows are left out, and missing ones hold nothing: a node of an older or newer version reads them as it reads rows.
package enum ChangeBytes {
    private enum Letter: UInt8 {
        case put = 0x70
        case delete = 0x64
        case forget = 0x66
        case amend = 0x61
        case filters = 0x6C
        /// Changes nothing in memory.
        case nothing = 0x6E
        /// Too much to be repeated, or rare: a follower begins anew.
        case interruption = 0x62
    }

    package static func encode(_ changes: [DurableChange]) -> [UInt8] {
        var writer = ByteWriter()
        for change in changes { encode(change, into: &writer) }
        return writer.bytes
    }

    private static func encode(_ change: DurableChange, into writer: inout ByteWriter) {
        func add(_ letter: Letter, _ name: String = "", _ fields: [Field] = []) {
            writer.bytes.append(letter.rawValue)
            writer.write(.text(name))
            writer.write(count: fields.count)
            for field in fields { writer.write(field) }
        }
        switch change {
        case .put(let record):
            var fields = FieldCollector()
            record.write(to: &fields)
            add(.put, record.kind.row.name, fields.fields)
        case .delete(let key): add(.delete, key.kind.row.name, key.fields)
        case .forget(let key): add(.forget, key.kind.row.name, key.fields)
        case .amend(let amendment):
            var fields = FieldCollector()
            amendment.write(to: &fields)
            // By the columns, which stay what they are.
            let columns = Field.text(type(of: amendment).columns.joined(separator: " "))
            add(.amend, amendment.kind.row.name, [columns] + amendment.key.fields + fields.fields)
        case .putFilters(let broker, let filters): add(.filters, broker, filters.map { .text($0) })
        case .expire, .forgetTombstones, .countDocuments: add(.nothing)
        case .putDocument: add(.interruption)
        }
    }

    /// - Returns: nil where one of them cannot be repeated, or is of a kind that this program does not know.
    package static func decode(_ bytes: [UInt8]) throws(MalformedRow) -> [DurableChange]? {
        var reader = ByteReader(bytes)
        var changes: [DurableChange] = []
        while !reader.isAtEnd {
            guard let letter = Letter(rawValue: try reader.byte()) else { throw MalformedRow() }
            guard case .text(let name) = try reader.field() else { throw MalformedRow() }
            var fields: [Field] = []
            for _ in 0..<(try reader.count()) { fields.append(try reader.field()) }
            switch letter {
            case .nothing: continue
            case .interruption: return nil
            case .filters:
                changes.append(
                    .putFilters(broker: name, fields.compactMap { if case .text(let text) = $0 { text } else { nil } }))
            case .put, .delete, .forget, .amend:
                guard let row = Kind.allCases.lazy.map(\.row).first(where: { $0.name == name }),
                    let change = try change(letter, row, fields)
                else { return nil }
                changes.append(change)
            }
        }
        return changes
    }

    private static func change(_ letter: Letter, _ row: KindRow, _ fields: [Field]) throws(MalformedRow) -> DurableChange? {
        switch letter {
        case .put:
            var reader = CollectedFields(fields)
            return .put(try row.type.init(from: &reader))
        case .delete: return .delete(RecordKey(row.kind, fields: fields))
        case .forget: return .forget(RecordKey(row.kind, fields: fields))
        default:
            guard case .text(let columns)? = fields.first, fields.count > row.keyCount else { throw MalformedRow() }
            guard let type = row.amendments.first(where: { $0.columns.joined(separator: " ") == columns }) else { return nil }
            let key = RecordKey(row.kind, fields: Array(fields[1...row.keyCount]))
            var reader = CollectedFields(Array(fields[(row.keyCount + 1)...]))
            return .amend(try type.init(of: key, from: &reader))
        }
    }
}

private struct ByteWriter {
    var bytes: [UInt8] = []

    mutating func write(count: Int) { append(UInt32(count)) }

    mutating func write(_ field: Field) {
        switch field {
        case .null: bytes.append(0)
        case .integer(let number):
            bytes.append(1)
            append(number)
        case .real(let number):
            bytes.append(2)
            append(number.bitPattern)
        case .text(let text):
            bytes.append(3)
            text.withBytes { append($0) }
        case .bytes(let content):
            bytes.append(4)
            content.withUnsafeBytes { append($0) }
        }
    }

    private mutating func append(_ content: UnsafeRawBufferPointer) {
        append(UInt32(content.count))
        bytes.append(contentsOf: content)
    }

    private mutating func append(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }
}

private struct ByteReader {
    private let bytes: [UInt8]
    private var index = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { index == bytes.count }

    mutating func byte() throws(MalformedRow) -> UInt8 { try number() }
    mutating func count() throws(MalformedRow) -> Int { Int(try number() as UInt32) }

    mutating func field() throws(MalformedRow) -> Field {
        switch try byte() {
        case 0: .null
        case 1: .integer(try number())
        case 2: .real(Double(bitPattern: try number()))
        case 3: .text(String(decoding: try content(), as: UTF8.self))
        case 4: .bytes(Array(try content()))
        default: throw MalformedRow()
        }
    }

    private mutating func content() throws(MalformedRow) -> ArraySlice<UInt8> {
        let count = try count()
        guard count <= bytes.count - index else { throw MalformedRow() }
        defer { index += count }
        return bytes[index..<(index + count)]
    }

    private mutating func number<Number: FixedWidthInteger>() throws(MalformedRow) -> Number {
        let size = Number.bitWidth / 8
        guard size <= bytes.count - index else { throw MalformedRow() }
        defer { index += size }
        return bytes[index..<(index + size)].reversed().reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
    }
}
