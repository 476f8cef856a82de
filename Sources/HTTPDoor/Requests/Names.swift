import Wire

/// The payload of a request of the table.
typealias RequestPayload = Wire.Request

extension JSONParser {
    /// Hands the root of some JSON to `body`.
    func read<R>(_ bytes: [UInt8], _ body: (JSONNode) throws(WireError) -> R) throws(WireError) -> R {
        try bytes.withUnsafeBufferPointer { bytes throws(WireError) in
            try parse(UnsafeRawBufferPointer(bytes), padded: false, body)
        }
    }
}
