import Wire

// match/watch · circumstance/watch · dataset/watch: the door streams to the socket that asks.

extension Hub {
    /// Messages of all clients of the dataset, for administrators.
    func watchAll(_ call: Call) throws(WireError) -> [UInt8] {
        guard call.isOpen else {
            throw WireError(
                .unsupported,
                "this request streams to a WebSocket: send it on /api/\(call.dataset.id)/socket; over MQTT subscribe to the topics",
                field: "request")
        }
        return JSONWriter.object { $0.member("watching", true) }
    }

    /// What everybody may hear of a dataset: its counters and diagnostics, which name live topics.
    func watchDataset(_ call: Call) throws(WireError) -> [UInt8] {
        try checkReader(call)
        return try watchAll(call)
    }
}
