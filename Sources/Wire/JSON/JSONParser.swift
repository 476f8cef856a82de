import CSimdJSON

/// Reads JSON into nodes, with buffers that are kept from one payload to the next.
///
/// Strict JSON (RFC 8259) of at most 1 MiB and 64 levels. One parser belongs to one task at a time.
public final class JSONParser {
    private let parser: OpaquePointer?

    public init() {
        parser = geomatch_json_create()
    }

    deinit {
        geomatch_json_destroy(parser)
    }

    /// Hands the payload's root to `body`; no node outlives it.
    ///
    /// - Parameter padded: 64 bytes behind `bytes` are readable. Without it the payload is copied.
    /// - Throws: What `body` throws, or `invalid` (`tooLarge`) for what is not JSON.
    @inline(__always)
    public func parse<R>(
        _ bytes: UnsafeRawBufferPointer, padded: Bool, _ body: (JSONNode) throws(WireError) -> R
    ) throws(WireError) -> R {
        let root: JSONNode
        do throws(JSONError) {
            root = try self.root(of: bytes, padded: padded)
        } catch {
            throw WireError(error)
        }
        // Optimised code may end a class at its last use; the nodes live in it.
        return try withExtendedLifetime(self) { () throws(WireError) -> R in try body(root) }
    }

    /// The root node, valid until the next call and as long as the parser.
    func root(of bytes: UnsafeRawBufferPointer, padded: Bool) throws(JSONError) -> JSONNode {
        var root: UnsafePointer<geomatch_json_node>?
        let code = geomatch_json_parse(
            parser, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count, padded, &root)
        guard let root else { throw JSONError(code: code) }
        return JSONNode(root)
    }
}
