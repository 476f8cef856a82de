/// What kind of JSON value a parameter is; parameters of one name are of one kind in every request.
public enum ParameterType: String, Sendable {
    case text, integer, number, boolean, object, array
    /// A text, or an object of its parts.
    case textOrObject
    /// Anything: the request says what.
    case any

    /// Of the parameter with this name; a name that no request knows is taken for text, and refused by the request.
    public static func of(_ name: String) -> ParameterType { byName[name] ?? .text }

    /// All but texts.
    private static let byName: [String: ParameterType] = {
        var types: [String: ParameterType] = [:]
        for (type, names) in notTexts { for name in names { types[name] = type } }
        return types
    }()

    private static let notTexts: [(ParameterType, [String])] = [
        (.integer, ["limit", "major", "minor", "since", "minInterval", "qos"]),
        (
            .number,
            [
                "range", "duration", "matchTTL", "matchDTL", "exitMargin", "dwell", "staleAfter", "lease", "nearRadius", "radius",
                "expiresIn", "n", "rssiOffset", "heading", "tilt", "latitude", "longitude", "horizontalAccuracy",
            ]
        ),
        (
            .boolean,
            [
                "autoCreateDevices", "derivedOccupancy", "excludeSelf", "snapshot", "debug", "activities", "enabled", "outlines",
                "homeAssistant",
                "leaves", "content", "counts", "edits",
            ]
        ),
        (
            .object,
            [
                "structure", "location", "carries", "ranging", "properties", "within", "places", "circle", "area", "notification",
                "value", "orientation",
            ]
        ),
        (
            .array,
            [
                "domains", "group", "pushers", "categories", "tags", "devices", "docs", "items", "bbox", "histories", "revisions",
            ]
        ),
        (.textOrObject, ["criteria"]),
        (.any, ["parents"]),
    ]
}
