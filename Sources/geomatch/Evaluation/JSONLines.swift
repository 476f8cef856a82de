import Glibc
import Wire

/// Answers each JSON object of a stream with one line, in order.
struct JSONLines<Evaluated: Evaluation> {
    private var evaluation: Evaluated
    private let parser = JSONParser()

    init(_ evaluation: Evaluated) {
        self.evaluation = evaluation
    }

    /// Reads to the end of the stream. Answers are written before it waits for more.
    mutating func run(input: Int32 = STDIN_FILENO, output descriptor: Int32 = STDOUT_FILENO) throws(CommandFailure) {
        var output = StandardOutput(descriptor: descriptor)
        var lines = LineStream()
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while !output.isClosed {
            output.flush()
            let count = read(input, &chunk, chunk.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw .usage("standard input cannot be read: \(String(cString: strerror(errno)))") }
            let isEnd = count == 0
            lines.take(chunk[..<count], isEnd: isEnd) { line in
                if let answer = answer(to: line) { output.line(answer) }
            }
            if isEnd { break }
        }
        output.flush()
    }

    /// The answer to one line; nil for an empty one.
    mutating func answer(to line: LineStream.Line) -> [UInt8]? {
        switch line {
        case .tooLong:
            return Self.answer(id: nil, .failure(WireError(.tooLarge, "the line is longer than \(LineStream.bytesMax) bytes")))
        case .bytes(let bytes):
            guard bytes.contains(where: { $0 > 0x20 }) else { return nil }
            let arguments: JSONValue
            do throws(JSONError) {
                arguments = try JSONValue.parse(bytes, using: parser)
            } catch {
                var wire = WireError(error)
                wire.message = wire.message.replacing("the payload", with: "the line")
                return Self.answer(id: nil, .failure(wire))
            }
            guard case .object(let object) = arguments else {
                return Self.answer(id: nil, .failure(WireError(.invalid, "the line must be a JSON object")))
            }
            do throws(WireError) {
                return Self.answer(id: object["id"], .success(try evaluation.result(of: object)))
            } catch {
                return Self.answer(id: object["id"], .failure(error))
            }
        }
    }

    private static func answer(id: JSONValue?, _ result: Result<JSONValue, WireError>) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        if let id {
            writer.key("id")
            writer.value(id)
        }
        switch result {
        case .success(let value):
            writer.key("result")
            writer.value(value)
        case .failure(let error):
            writer.key("error")
            error.encode(into: &writer)
        }
        writer.endObject()
        return writer.bytes
    }
}

/// Cuts a stream into lines, holding at most one of them.
struct LineStream {
    enum Line {
        case bytes(UnsafeRawBufferPointer)
        case tooLong
    }

    /// The longest line that is looked at: what the parser reads.
    static let bytesMax = 1 << 20

    private var rest: [UInt8] = []
    private var isSkipping = false

    /// Hands over the lines that are complete; at the end of the stream also one without a line feed.
    mutating func take(_ chunk: ArraySlice<UInt8>, isEnd: Bool, _ body: (Line) -> Void) {
        chunk.withUnsafeBytes { bytes in
            var start = 0
            while let base = bytes.baseAddress, start < bytes.count,
                let found = memchr(base + start, Int32(UInt8(ascii: "\n")), bytes.count - start)
            {
                let end = base.distance(to: UnsafeRawPointer(found))
                complete(UnsafeRawBufferPointer(rebasing: bytes[start..<end]), body)
                start = end + 1
            }
            keep(UnsafeRawBufferPointer(rebasing: bytes[start...]))
        }
        if isEnd, isSkipping || !rest.isEmpty { complete(UnsafeRawBufferPointer(start: nil, count: 0), body) }
    }

    private mutating func keep(_ bytes: UnsafeRawBufferPointer) {
        guard !isSkipping else { return }
        if rest.count + bytes.count > Self.bytesMax {
            isSkipping = true
            rest.removeAll()
        } else {
            rest.append(contentsOf: bytes)
        }
    }

    private mutating func complete(_ end: UnsafeRawBufferPointer, _ body: (Line) -> Void) {
        defer {
            isSkipping = false
            rest.removeAll(keepingCapacity: true)
        }
        if !rest.isEmpty { keep(end) }
        if isSkipping || end.count > Self.bytesMax { return body(.tooLong) }
        if rest.isEmpty { return body(.bytes(end)) }
        rest.withUnsafeBytes { body(.bytes($0)) }
    }
}
