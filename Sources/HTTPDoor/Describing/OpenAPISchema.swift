import Wire

/// What values of parameters may be, as JSON Schema: read off the catalogue.
///
/// What no schema can say (bytes of a text, what depends on other parameters) is in the descriptions.
enum OpenAPISchema {
    typealias Members = [(String, JSONValue)]

    /// The body of a request.
    static func body(of fields: [RequestField], takesItems: Bool) -> JSONValue {
        var properties = properties(of: fields)
        properties.append(("requestId", ["type": ["string", "null"], "maxLength": 64]))
        if takesItems {
            properties.append(
                (
                    "items",
                    [
                        "type": ["array", "null"], "items": ["type": "object"], "minItems": 1, "maxItems": 1000,
                        "description": "Several at once, each with these parameters and answered by itself.",
                    ]
                ))
        }
        let alternatives = requirements(of: fields, takesItems: takesItems)
        return object(properties, [("additionalProperties", false)] + alternatives)
    }

    private static func properties(of fields: [RequestField]) -> Members {
        fields.flatMap { field in ([field.name] + field.aliases).map { ($0, schema(of: field)) } }
    }

    /// A parameter that is required may have other names, and none is where there are `items`.
    private static func requirements(of fields: [RequestField], takesItems: Bool) -> Members {
        let required = fields.filter(\.isRequired)
        let plain = required.filter(\.aliases.isEmpty).map { JSONValue.string($0.name) }
        var all = plain.isEmpty ? [] : [JSONValue.object(["required": .array(plain)])]
        for field in required where !field.aliases.isEmpty {
            all.append(["anyOf": .array(([field.name] + field.aliases).map { ["required": [.string($0)]] })])
        }
        guard !all.isEmpty else { return [] }
        guard takesItems else {
            return all.count == 1 && !plain.isEmpty ? [("required", .array(plain))] : [("allOf", .array(all))]
        }
        return [("anyOf", [["required": ["items"]], all.count == 1 ? all[0] : ["allOf": .array(all)]])]
    }

    /// - Parameter mayBeNull: In a body, null is no value for what may be left out.
    static func schema(of field: RequestField, mayBeNull: Bool = true) -> JSONValue {
        let isNullable = mayBeNull && !field.isRequired
        var members = type(of: field, isNullable: isNullable) + limits(of: field, isNullable: isNullable)
        switch field.content {
        case .any: break
        case .object(let fields): members += [("properties", properties(fields)), ("additionalProperties", false)]
        case .area(let fields):
            members.append(("anyOf", .array(areas(fields) + (isNullable ? [["type": "null"]] : []))))
        case .list(let fields):
            members.removeAll { $0.0 == "items" }
            members.append(("items", object(properties(of: fields), [("additionalProperties", false)])))
        }
        return .object(JSONObject(members + [("description", .string(field.takes))]))
    }

    private static func properties(_ fields: [RequestField]) -> JSONValue { .object(JSONObject(properties(of: fields))) }

    /// Its own members, or a GeoJSON geometry.
    private static func areas(_ fields: [RequestField]) -> [JSONValue] {
        let geometry: JSONValue = [
            "required": ["type", "coordinates"],
            "properties": [
                "type": ["enum": ["Polygon", "MultiPolygon"]], "coordinates": ["type": "array"], "bbox": [:], "crs": [:],
            ],
            "additionalProperties": false,
        ]
        return [["properties": properties(fields), "additionalProperties": false, "minProperties": 1], geometry]
    }

    private static func type(of field: RequestField, isNullable: Bool) -> Members {
        let names: [JSONValue]
        switch ParameterType.of(field.name) {
        case .text: names = ["string"]
        case .integer: names = ["integer"]
        case .number: names = ["number"]
        case .boolean: names = ["boolean"]
        case .object: names = ["object"]
        case .array: names = ["array"]
        case .textOrObject: names = ["string", "object"]
        case .any: return []
        }
        let all = names + (isNullable ? ["null"] : [])
        let type: Members = [("type", all.count == 1 ? all[0] : .array(all))]
        return type + (elements[field.name].map { [("items", $0)] } ?? [])
    }

    /// Of arrays.
    private static let elements: [String: JSONValue] = [
        "group": ["type": "string", "pattern": "^[A-Za-z0-9_]{1,25}$"], "domains": ["type": "string", "minLength": 1],
        "tags": ["type": "string", "maxLength": 256], "devices": ["type": "string", "minLength": 1, "maxLength": 128],
        "bbox": ["type": "number"], "pushers": ["type": ["string", "object"]], "docs": ["type": "object"],
        "categories": ["type": "object"], "histories": ["type": "array"], "revisions": ["type": "string"],
    ]

    private static func limits(of field: RequestField, isNullable: Bool) -> Members {
        func bounds(_ least: String, _ most: String, _ range: ClosedRange<Int>) -> Members {
            (range.lowerBound > 0 ? [(least, .integer(Int64(range.lowerBound)))] : []) + [
                (most, .integer(Int64(range.upperBound)))
            ]
        }
        switch field.limits {
        case .none: return []
        case .id: return bounds("minLength", "maxLength", 1...128) + [("not", ["const": "-"])]
        case .words(let words): return [("enum", .array(words.map { .string($0) } + (isNullable ? [.null] : [])))]
        case .characters(let range), .bytes(let range): return bounds("minLength", "maxLength", range)
        case .entries(let range): return bounds("minItems", "maxItems", range)
        case .numbers(let range): return [("minimum", number(range.lowerBound)), ("maximum", number(range.upperBound))]
        case .atLeast(let least): return [("minimum", number(least))]
        case .above(let bound): return [("exclusiveMinimum", number(bound))]
        }
    }

    private static func number(_ value: Double) -> JSONValue { Int64(exactly: value).map { .integer($0) } ?? .double(value) }

    private static func object(_ properties: Members, _ more: Members) -> JSONValue {
        .object(JSONObject([("type", "object"), ("properties", .object(JSONObject(properties)))] + more))
    }
}
