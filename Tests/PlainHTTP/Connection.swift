import Foundation
package import Wire

/// A plain connection, over which anything can be written.
package final class Connection {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        package init(description: String) { self.description = description }
    }

    /// An answer as it came.
    package struct Answer: CustomStringConvertible {
        package var status: Int
        package var fields: [String: String]
        package var body: [UInt8]

        package var text: String { String(decoding: body, as: UTF8.self) }
        package var json: JSONObject { (try? JSONValue.parse(body))?.asObject ?? JSONObject() }
        /// The name of the error.
        package var error: String? { json["error"]?.asObject?["error"]?.asString }
        package var description: String { "\(status) \(fields) \(text.prefix(2000))" }
    }

    private let socket: Int32
    private var received: [UInt8] = []
    package private(set) var isAtEnd = false

    /// - Parameters:
    ///   - seconds: So long an answer may take.
    ///   - buffered: So many bytes, or twice as many, wait here to be read; nil: as many as the system likes.
    package init(to port: Int, seconds: Int = 8, buffered: Int32? = nil) throws {
        socket = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        if var buffered { setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &buffered, socklen_t(MemoryLayout<Int32>.size)) }
        var limit = timeval(tv_sec: seconds, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let (descriptor, size) = (socket, socklen_t(MemoryLayout<sockaddr_in>.size))
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) }
        }
        guard result == 0 else { throw Failure(description: String(cString: strerror(errno))) }
    }

    deinit { close(socket) }

    package func write(_ text: String) { write(Array(text.utf8)) }

    /// What a closed connection no longer takes is lost.
    package func write(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Sends a request and reads its answer.
    package func ask(
        _ method: String, _ path: String, _ body: String? = nil, host: String = "localhost", fields: [String: String] = [:]
    ) throws -> Answer {
        var text = "\(method) \(path) HTTP/1.1\r\nHost: \(host)\r\n"
        for (name, value) in fields { text += "\(name): \(value)\r\n" }
        if let body { text += "Content-Length: \(body.utf8.count)\r\n" }
        write(text + "\r\n" + (body ?? ""))
        return try answer(hasBody: method != "HEAD")
    }

    package func answer(hasBody: Bool = true) throws -> Answer {
        while true {
            if let end = received.firstRange(of: Array("\r\n\r\n".utf8)) {
                let lines = String(decoding: received[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
                received.removeSubrange(..<end.upperBound)
                var fields: [String: String] = [:]
                for line in lines.dropFirst() {
                    let parts = line.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
                    fields[parts[0].lowercased()] = parts.count > 1 ? parts[1] : ""
                }
                let status = Int(lines[0].split(separator: " ").dropFirst().first ?? "") ?? 0
                let length = hasBody ? fields["content-length"].flatMap { Int($0) } ?? 0 : 0
                while received.count < length { try receive() }
                let body = Array(received.prefix(length))
                received.removeFirst(length)
                return Answer(status: status, fields: fields, body: body)
            }
            try receive()
        }
    }

    /// Reads until a text has come, which is taken out with all before it.
    package func read(until text: String) throws -> String {
        while true {
            if let range = received.firstRange(of: Array(text.utf8)) {
                let read = String(decoding: received[..<range.upperBound], as: UTF8.self)
                received.removeSubrange(..<range.upperBound)
                return read
            }
            try receive()
        }
    }

    /// So many bytes.
    package func read(count: Int) throws -> [UInt8] {
        while received.count < count { try receive() }
        defer { received.removeFirst(count) }
        return Array(received.prefix(count))
    }

    package func endWriting() { shutdown(socket, Int32(SHUT_WR)) }

    /// Whether the other side closes.
    package func ends() -> Bool {
        while !isAtEnd { if (try? receive()) == nil { break } }
        return isAtEnd
    }

    private func receive() throws {
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        var count = recv(socket, &bytes, bytes.count, 0)
        // With a time limit, a signal ends the waiting even where its handler asks for the contrary.
        while count < 0 && errno == EINTR { count = recv(socket, &bytes, bytes.count, 0) }
        if count == 0 || (count < 0 && errno == ECONNRESET) {
            isAtEnd = true
            throw Failure(description: "the connection ended; before: \(String(decoding: received.prefix(500), as: UTF8.self))")
        }
        guard count > 0 else { throw Failure(description: "nothing came in time: \(String(cString: strerror(errno)))") }
        received += bytes.prefix(count)
    }
}
