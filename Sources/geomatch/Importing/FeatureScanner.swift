import Wire

/// Takes the features out of a FeatureCollection of any size.
///
/// The file is only looked through for where each feature begins and ends; a feature itself is parsed, strictly and with the
/// limits of the daemon, one at a time.
enum FeatureScanner {
    struct Failure: Error, Equatable {
        var reason: String
    }

    /// One element of `features`: what it is, or why it cannot be read.
    typealias Feature = Result<JSONValue, Failure>

    static func features(of text: [UInt8]) throws(Failure) -> [Feature] {
        var scanner = Scanner(text: text)
        if text.starts(with: [0xEF, 0xBB, 0xBF]) { scanner.place = 3 }
        guard scanner.skip(UInt8(ascii: "{")) else { throw Failure(reason: "it is no JSON object") }
        var features: [Feature]?
        while !scanner.skip(UInt8(ascii: "}")) {
            guard let key = scanner.string(), scanner.skip(UInt8(ascii: ":")) else { throw scanner.failure }
            if text[key].elementsEqual("features".utf8) {
                features = try elements(&scanner)
            } else if let value = scanner.value() {
                if text[key].elementsEqual("type".utf8), !text[value].elementsEqual("\"FeatureCollection\"".utf8) {
                    throw Failure(reason: "it is no FeatureCollection")
                }
            } else {
                throw scanner.failure
            }
            _ = scanner.skip(UInt8(ascii: ","))
        }
        guard let features else { throw Failure(reason: "it has no `features`") }
        return features
    }

    private static func elements(_ scanner: inout Scanner) throws(Failure) -> [Feature] {
        guard scanner.skip(UInt8(ascii: "[")) else { throw Failure(reason: "`features` is no array") }
        let parser = JSONParser()
        var features: [Feature] = []
        while !scanner.skip(UInt8(ascii: "]")) {
            guard let range = scanner.value() else { throw scanner.failure }
            do throws(JSONError) {
                features.append(.success(try JSONValue.parse(Array(scanner.text[range]), using: parser)))
            } catch {
                features.append(.failure(Failure(reason: error.message)))
            }
            _ = scanner.skip(UInt8(ascii: ","))
        }
        return features
    }
}

/// Goes through JSON without understanding it.
private struct Scanner {
    let text: [UInt8]
    var place = 0

    var failure: FeatureScanner.Failure { FeatureScanner.Failure(reason: "it is not JSON at byte \(place)") }

    private mutating func skipSpace() {
        while place < text.count, text[place] == 0x20 || (0x09...0x0D).contains(text[place]) { place += 1 }
    }

    mutating func skip(_ byte: UInt8) -> Bool {
        skipSpace()
        guard place < text.count, text[place] == byte else { return false }
        place += 1
        return true
    }

    /// The bytes between the quotes.
    mutating func string() -> Range<Int>? {
        guard skip(UInt8(ascii: "\"")) else { return nil }
        let start = place
        while place < text.count {
            switch text[place] {
            case UInt8(ascii: "\""):
                place += 1
                return start..<(place - 1)
            case UInt8(ascii: "\\"): place += 2
            default: place += 1
            }
        }
        return nil
    }

    /// One value; nil where none begins or it does not end.
    mutating func value() -> Range<Int>? {
        skipSpace()
        let start = place
        var depth = 0
        while place < text.count {
            switch text[place] {
            case UInt8(ascii: "\""): guard string() != nil else { return nil }
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                place += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return start < place ? start..<place : nil }
                depth -= 1
                place += 1
            case UInt8(ascii: ",") where depth == 0: return start < place ? start..<place : nil
            default: place += 1
            }
            if depth == 0, [UInt8(ascii: "\""), UInt8(ascii: "}"), UInt8(ascii: "]")].contains(text[place - 1]) {
                return start..<place
            }
        }
        return nil
    }
}
