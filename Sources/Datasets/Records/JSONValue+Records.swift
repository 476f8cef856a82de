import Geodesy
import Selectors
import Wire

// JSON that records hold as text.

extension JSONValue {
    init(kept text: String) throws(WireError) {
        do throws(JSONError) {
            self = try JSONValue.parse(text)
        } catch {
            throw WireError(error)
        }
    }
}

extension PropertiesCoding {
    static func decode(text: String) throws(WireError) -> Properties { try decode(JSONValue(kept: text)) }
}

extension AreaCoding {
    static func decode(text: String) throws(WireError) -> Area { try decode(JSONValue(kept: text)) }
}
