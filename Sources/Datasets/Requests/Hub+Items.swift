import Wire
import Records

// device/create · publication/create · subscription/create with `items`: a fleet in one request

extension Hub {
    /// The most elements of `items`.
    static let itemsMaximum = 1000

    /// Clients read at most 1 MiB of JSON, as the daemon does; the envelope of the reply comes on top.
    private static let itemsResultMaximumBytes = (1 << 20) - (4 << 10)
    /// What an element that is not made adds at most.
    private static let itemRefusalMaximumBytes = 256

    /// Makes each element of `items` as if it had been asked for alone, in order and in one transaction.
    ///
    /// - Returns: `{"items":[{object}|{"error":{…}}…]}` in the same order.
    /// - Throws: `invalid`, field `items`, where nothing was made because `items` itself is wrong.
    func createItems(
        _ call: Call, _ row: RequestRow, _ create: (Call, inout Turn) throws(WireError) -> [UInt8], _ turn: inout Turn
    ) throws(WireError) -> [UInt8] {
        let items = try call.parameters.array("items", count: 1...Self.itemsMaximum)
        if let other = call.parameters.object.keys.first(where: { $0 != "items" }) {
            throw call.parameters.error("items", "stands alone: `\(other.prefix(40))` belongs into each of its elements")
        }
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("items")
        writer.beginArray()
        for (index, item) in items.enumerated() {
            let refusals = (items.count - index) * Self.itemRefusalMaximumBytes
            do throws(WireError) {
                // Nothing is made that could not be reported.
                guard writer.bytes.count + refusals + Self.resultMaximumBytes(of: item) <= Self.itemsResultMaximumBytes else {
                    throw WireError(
                        .tooLarge, "the reply is full; ask for this and what follows in another request", field: "items")
                }
                let single = try Self.call(for: item, of: call)
                try row.description?.check(single.parameters.object)
                writer.raw(try create(single, &turn))
            } catch {
                writer.beginObject()
                writer.key("error")
                error.encode(into: &writer)
                writer.endObject()
            }
        }
        writer.endArray()
        writer.endObject()
        return writer.bytes
    }

    /// What is made of an element answers with what was sent, where `1e15` becomes sixteen digits, with members of its own, and
    /// with a hint of six times its length for each comparison of at most 4096 characters.
    private static func resultMaximumBytes(of item: JSONValue) -> Int { 4 * item.serialised().count + (32 << 10) }

    /// The request for one element alone.
    private static func call(for item: JSONValue, of call: Call) throws(WireError) -> Call {
        guard var object = item.asObject else {
            throw WireError(.invalid, "an element of `items` must be an object", field: "items")
        }
        // The request has one; what an element says of itself counts for nothing.
        object["requestId"] = nil
        return Call(
            dataset: call.dataset, client: call.client, parameters: Parameters(object), now: call.now, isItem: true)
    }
}
