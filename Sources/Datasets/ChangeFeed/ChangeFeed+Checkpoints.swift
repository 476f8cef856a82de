import Records
import Wire

// checkpoint/get · put: what replicators remember here of how far they are.

extension ChangeFeed {
    func getCheckpoint(_ call: Call) throws(WireError) -> [UInt8] {
        let id = try checkpointID(call)
        guard let record = checkpoints[call.client.name, id] else {
            throw WireError(.notFound, "there is no checkpoint `\(id.prefix(80))` of `\(call.client.name)`", field: "id")
        }
        return describe(record, withValue: true)
    }

    /// The last write counts: a client knows best how far it is.
    func putCheckpoint(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let id = try checkpointID(call)
        guard let value = call.parameters.value("value")?.asObject else {
            throw call.parameters.error("value", "must be an object")
        }
        let body = JSONValue.object(value).serialised()
        guard body.count <= Checkpoints.bytesMaximum else {
            throw WireError(.tooLarge, "a checkpoint has at most \(Checkpoints.bytesMaximum >> 10) KiB", field: "value")
        }
        let dataset = call.dataset.id
        let known = checkpoints[call.client.name, id]
        let record = CheckpointRecord(
            dataset: dataset, client: call.client.name, id: id, number: (known?.number ?? 0) + 1, at: call.now, body: body)
        checkpoints.insert(record)
        turn.keep(.put(record))
        while let excess = checkpoints.excess(afterWriteOf: record) {
            checkpoints.remove(client: excess.client, id: excess.id)
            turn.keep(.deleteCheckpoint(dataset: dataset, client: excess.client, id: excess.id))
        }
        return describe(record, withValue: false)
    }

    private func checkpointID(_ call: Call) throws(WireError) -> String {
        let id = try call.parameters.string("id")
        guard (1...Checkpoints.idBytesMaximum).contains(id.utf8.count) else {
            throw call.parameters.error("id", "must have 1 to \(Checkpoints.idBytesMaximum) bytes")
        }
        return id
    }

    private func describe(_ record: CheckpointRecord, withValue: Bool) -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("id", record.id)
            writer.member("number", record.number)
            writer.member("updatedAt", record.at)
            guard withValue else { return }
            writer.key("value")
            writer.raw(record.body)
        }
    }
}
