import LiveTopics

/// Criteria in requests: an object of decoded levels, or an encoded topic with `+` and `#`.
public enum CriteriaCoding {
    /// Reads criteria for live topics of one dataset.
    ///
    /// An object may leave out any level; the dataset is then the one of the request. `domainType` is understood as `domain`.
    ///
    /// - Throws: `forbidden` for another dataset, else `invalid`; `field` is `criteria`, or the level below it in an object.
    public static func decode(
        _ value: JSONValue?, dataset: String, field: String = "criteria"
    ) throws(WireError) -> Criteria {
        let criteria: Criteria
        switch value {
        case .string(let text):
            do throws(CriteriaError) {
                criteria = try Criteria(encoded: text)
            } catch {
                throw WireError(.invalid, "`\(field)`: \(error.message)", field: field)
            }
        case .object(let object): criteria = try decode(object, dataset: dataset, field: field)
        case nil, .null: throw WireError(.invalid, "`\(field)` is required", field: field)
        case let other?:
            throw WireError(.invalid, "`\(field)` must be an object of levels or a topic, not \(other.shown)", field: field)
        }
        guard criteria.dataset.utf8.elementsEqual(dataset.utf8) else {
            throw WireError(
                .forbidden, "`\(field)` may name the dataset of the request only, `\(dataset)`, not `\(criteria.dataset)`",
                field: field)
        }
        return criteria
    }

    private static func decode(_ object: JSONObject, dataset: String, field: String) throws(WireError) -> Criteria {
        var levels: [String: String] = [:]
        for member in object.members {
            let name = member.key == "domainType" ? "domain" : member.key
            guard LiveTopic.levelNames.contains(name) else {
                let advice = Nearness.advice(on: name, of: LiveTopic.levelNames, at: field + ".", else: "there are")
                throw WireError(
                    .invalid, "`\(field).\(member.key)` is no level; \(advice)", field: "\(field).\(member.key)")
            }
            if member.value == .null { continue }
            guard let level = member.value.asString else {
                throw WireError(
                    .invalid, "`\(field).\(name)` must be a string, not \(member.value.shown)", field: "\(field).\(name)")
            }
            levels[name] = level
        }
        do throws(CriteriaError) {
            return try Criteria(
                dataset: levels["dataset"] ?? dataset, venue: levels["venue"], building: levels["building"],
                floor: levels["floor"], room: levels["room"], location: levels["location"], domain: levels["domain"])
        } catch {
            var level = field
            if case .level(let problem) = error, let name = problem.field { level += "." + name }
            throw WireError(.invalid, "`\(field)`: \(error.message)", field: level)
        }
    }
}
