import Wire

/// The parameters of a request as they are written on a command line.
enum RequestWords {
    /// Parameters that are text whatever they look like: an id may be 123, an expression `true`.
    static let textParameters = [
        "id", "deviceId", "placeId", "categoryId", "chainId", "name", "topic", "selector", "after", "publicationId",
        "subscriptionId", "requestId", "deviceToken",
        "platform", "deviceType", "proximityUUID", "secret", "where", "expression", "timeZone", "criteria",
    ]

    private static let depthMax = 60

    /// The parameters that the first words alone give: the id of what the request is about and the device it is asked about, else
    /// all that it must have.
    private static func subjects(of request: String) -> [String] {
        let required = (RequestCatalogue.byName[request]?.fields ?? []).filter(\.isRequired).map(\.name)
        if required.contains("id") { return ["id", "deviceId"].filter(required.contains) }
        return required.count == 1 ? required.filter(["deviceId", "criteria"].contains) : []
    }

    /// Parameters in seconds, which may be written `90s`, `15min`, `1h` and `7d`.
    private static let durations = ["duration", "matchTTL", "lease", "expiresIn"]
    private static let seconds: [String: Double] = ["s": 1, "min": 60, "h": 3600, "d": 86_400]
    /// Parameters in metres, which may be written `500m` and `2km`; below an area, too.
    private static let lengths = ["range", "radius", "exitMargin", "nearRadius"]
    private static let metres: [String: Double] = ["m": 1, "km": 1000]
    private static let deviceTypes = ["mobile": "MobileDevice", "pin": "PinDevice", "beacon": "IBeaconDevice"]

    /// One JSON object, or words `key=value`, `key:=JSON` and `a.b=value`; the first ones may be ids alone.
    ///
    /// - Parameter request: `resource/verb`.
    /// - Throws: `usage`, naming the word.
    static func parameters(_ words: [String], of request: String = "") throws(CommandFailure) -> JSONObject {
        if let first = words.first, first.utf8.first(where: { $0 > 0x20 }) == UInt8(ascii: "{") {
            guard words.count == 1 else {
                throw .usage("a JSON object must be alone; \"\(shown(words[1]))\" follows it")
            }
            return try object(of: Array(first.utf8))
        }
        var parameters = JSONObject()
        var words = words[...]
        for subject in subjects(of: request) {
            guard let first = words.first, !first.contains("=") else { break }
            parameters[subject] = .string(first)
            words = words.dropFirst()
        }
        for word in words {
            guard let equals = word.utf8.firstIndex(of: UInt8(ascii: "=")) else {
                throw .usage(refusal(of: word, in: request))
            }
            try add(word, until: equals, to: &parameters)
        }
        return parameters
    }

    static func object(of text: [UInt8]) throws(CommandFailure) -> JSONObject {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue.parse(text)
        } catch {
            throw .usage(refusal(error, of: text))
        }
        guard case .object(let object) = value else { throw .usage("the parameters must be a JSON object") }
        return object
    }

    /// What is wrong with the JSON, and the line with a caret under the place.
    private static func refusal(_ error: JSONError, of text: [UInt8]) -> String {
        text.withUnsafeBytes { bytes in
            let message = "the parameters are refused: \(error.message(about: bytes))"
            guard error != .tooLarge, let fault = JSONFault.find(in: bytes) else { return message }
            let position = String(decoding: bytes.prefix(fault.offset), as: UTF8.self).unicodeScalars.count
            return message + "\n" + Caret.text(in: String(decoding: bytes, as: UTF8.self), at: position)
        }
    }

    /// What is wrong with a word that gives no parameter: often the verb before it.
    private static func refusal(of word: String, in request: String) -> String {
        if RequestCatalogue.byName[request] == nil, let near = RequestCatalogue.nearest(to: request) {
            return "there is no request `\(shown(request))`; did you mean `geomatch \(near.replacing("/", with: " "))`?"
        }
        return
            "\"\(shown(word))\" is neither key=value nor a JSON object; a value with spaces is written in quotes: 'name=At home'"
    }

    /// - Parameter equals: Where the key ends.
    private static func add(
        _ word: String, until equals: String.Index, to parameters: inout JSONObject
    ) throws(CommandFailure) {
        var key = word[..<equals]
        let text = String(word[word.utf8.index(after: equals)...])
        let isJSON = key.utf8.last == UInt8(ascii: ":")
        if isJSON { key = key.dropLast() }
        let path = key.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard path.allSatisfy({ !$0.isEmpty }), path.count <= depthMax else {
            throw .usage("\"\(shown(word))\" has no key of the form a or a.b before its \"=\"")
        }
        let value = try isJSON ? json(text, of: word) : value(text, of: path)
        guard insert(value, at: path[...], in: &parameters) else {
            throw .usage("\"\(shown(word))\" gives a value to what has one already")
        }
    }

    private static func json(_ text: String, of word: String) throws(CommandFailure) -> JSONValue {
        guard let value = try? JSONValue.parse(text) else {
            throw .usage("\"\(shown(word))\": JSON must follow \":=\"")
        }
        return value
    }

    private static func value(_ text: String, of path: [String]) -> JSONValue {
        var isText = path.count == 1 ? textParameters.contains(path[0]) : path[0] == "criteria"
        // Criteria are a topic or an object of levels, and no topic begins with the name of a dataset such as this.
        if path == ["criteria"], text.utf8.first == UInt8(ascii: "{") { isText = false }
        if path == ["deviceType"], let type = deviceTypes[text.lowercased()] { return .string(type) }
        if path.count == 1, durations.contains(path[0]), let seconds = number(text, in: seconds) { return .double(seconds) }
        if path[0] != "properties", lengths.contains(path[path.count - 1]), let metres = number(text, in: metres) {
            return .double(metres)
        }
        return isText ? .string(text) : (try? JSONValue.parse(text)) ?? .string(text)
    }

    /// A number with one of the units; nil for anything else.
    private static func number(_ text: String, in units: [String: Double]) -> Double? {
        let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        guard let count = Double(number), let unit = units[String(text.dropFirst(number.count))] else { return nil }
        return count * unit
    }

    /// False where a value is there already, or on the way.
    private static func insert(_ value: JSONValue, at path: ArraySlice<String>, in object: inout JSONObject) -> Bool {
        guard let key = path.first else { return false }
        guard path.count > 1 else {
            guard object[key] == nil else { return false }
            object[key] = value
            return true
        }
        var inner: JSONObject
        switch object[key] {
        case nil: inner = JSONObject()
        case .object(let known)?: inner = known
        default: return false
        }
        guard insert(value, at: path.dropFirst(), in: &inner) else { return false }
        object[key] = .object(inner)
        return true
    }

    private static func shown(_ word: String) -> String {
        let short = String(String.UnicodeScalarView(word.unicodeScalars.prefix(60)))
        return PlainText.printable(short) + (short.unicodeScalars.count < word.unicodeScalars.count ? "…" : "")
    }
}
