/// How far a client has replicated: what it says of that is its own.
public struct CheckpointRecord: Equatable, Sendable {
    public var dataset: String
    /// Whose it is; ids are the client's own.
    public var client: String
    public var id: String
    /// How often it was written.
    public var number: Int64
    /// When it was written last.
    public var at: Int64
    /// A JSON object.
    public var body: [UInt8]

    public init(dataset: String, client: String, id: String, number: Int64, at: Int64, body: [UInt8]) {
        self.dataset = dataset
        self.client = client
        self.id = id
        self.number = number
        self.at = at
        self.body = body
    }
}

extension CheckpointRecord: DurableRecord {
    public static var kind: Kind { .checkpoint }

    public func write(to fields: inout some FieldWriter) {
        fields.write(dataset)
        fields.write(client)
        fields.write(id)
        fields.write(number)
        fields.write(at)
        fields.write(body)
    }

    public init(from fields: inout some FieldReader) {
        self.init(
            dataset: fields.text(), client: fields.text(), id: fields.text(), number: fields.int64(), at: fields.int64(),
            body: fields.bytes())
    }
}

extension DurableChange {
    package static func deleteCheckpoint(dataset: String, client: String, id: String) -> Self {
        .delete(RecordKey(.checkpoint, dataset, client, id))
    }
}
