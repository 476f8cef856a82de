import HTTPTypes

// GET /, and what the page needs: for everybody, as nothing of a dataset is in it.

extension HTTPResponder {
    func page(_ head: RequestHead, _ name: String) -> HTTPAnswer {
        guard let file = door.page.file(name) else { return HTTPRefusal.noPath("/page/" + name).answer }
        let isKnown = head.knows(file.tag)
        var answer = HTTPAnswer(isKnown ? .notModified : .ok, type: file.type, isKnown ? [] : file.bytes)
        if !isKnown, head.acceptsGzip, file.gzip.count < file.bytes.count {
            answer.body = file.gzip
            answer.fields[.contentEncoding] = "gzip"
        }
        answer.fields[.vary] = "Accept-Encoding"
        // A weak one: the compressed bytes are others. Source: RFC 9110, section 8.8.3.3.
        answer.fields[.eTag] = "W/" + file.tag
        // A new daemon may bring a new page.
        answer.fields[.cacheControl] = "no-cache"
        answer.fields[.contentSecurityPolicy] = door.page.policy
        answer.fields[.frameOptions] = "DENY"
        answer.fields[.referrerPolicy] = "no-referrer"
        return answer
    }

    /// `/page/tiles/{z}/{x}/{y}`, of a file of the daemon's.
    func tile(_ levels: ArraySlice<String>) -> HTTPAnswer {
        let numbers = levels.compactMap { Int($0) }
        guard numbers.count == 3, (0...30).contains(numbers[0]), numbers[1...].allSatisfy({ (0..<(1 << 30)).contains($0) }),
            let bytes = door.page.configuration.tiles?.read?(numbers[0], numbers[1], numbers[2])
        else { return HTTPRefusal.noPath("/page/tiles/" + levels.joined(separator: "/")).answer }
        var answer = HTTPAnswer(.ok, type: Self.type(ofTile: bytes), bytes)
        answer.fields[.cacheControl] = "max-age=86400"
        return answer
    }

    private static func type(ofTile bytes: [UInt8]) -> String {
        if bytes.starts(with: [0xFF, 0xD8]) { return "image/jpeg" }
        return bytes.starts(with: Array("RIFF".utf8)) ? "image/webp" : "image/png"
    }
}

extension RequestHead {
    /// Whether the caller has what a strong tag stands for: weak tags do. Source: RFC 9110, sections 8.8.3.2 and 13.1.2.
    func knows(_ tag: String) -> Bool {
        let matching = ["*", tag, "W/" + tag]
        let tags = fields[.ifNoneMatch]?.split(separator: ",") ?? []
        return tags.contains { part in
            let read: String = part.filter { character in !character.isWhitespace }
            return matching.contains(read)
        }
    }

    fileprivate var acceptsGzip: Bool {
        let accepted = fields[.acceptEncoding]?.lowercased().split(separator: ",") ?? []
        return accepted.contains { coding in
            let parts = coding.filter { $0 != " " }.split(separator: ";")
            return parts.first == "gzip" && !["q=0", "q=0.0", "q=0.00", "q=0.000"].contains(parts.dropFirst().first)
        }
    }
}

extension HTTPField.Name {
    fileprivate static let frameOptions = HTTPField.Name("X-Frame-Options")!
    fileprivate static let referrerPolicy = HTTPField.Name("Referrer-Policy")!
}
