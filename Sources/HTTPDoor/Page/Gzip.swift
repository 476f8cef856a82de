import CZlib

/// Compression for what is sent often and changes never.
enum Gzip {
    static func compress(_ bytes: [UInt8]) -> [UInt8] {
        var stream = z_stream()
        guard geomatch_gzip_begin(&stream) == Z_OK else { return bytes }
        defer { deflateEnd(&stream) }
        let bound = Int(deflateBound(&stream, UInt(bytes.count)))
        var bytes = bytes
        return [UInt8](unsafeUninitializedCapacity: bound) { output, count in
            bytes.withUnsafeMutableBufferPointer { input in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                // The bound holds all of it.
                _ = deflate(&stream, Z_FINISH)
            }
            count = Int(stream.total_out)
        }
    }
}
