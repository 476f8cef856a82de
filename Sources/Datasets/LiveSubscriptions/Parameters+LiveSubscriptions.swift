import Geodesy
import LiveTopics
import Selectors
import Wire

/// What `live/subscribe` and `live/snapshot` have in common: which updates somebody wants.
struct LiveFilter {
    let criteria: Criteria
    let condition: String?
    let selector: Selector?
    /// As it was asked for, JSON.
    let within: String?
    let area: Area?

    /// What was hardly meant so, although it is allowed: any domain may be there, with any property.
    ///
    /// At most ``hintsMax``: what is compared for each costs time, and the reply has room for them.
    func hints(in dataset: Dataset) -> [String] {
        var hints: [String] = []
        let domain = criteria.levels[Criteria.levelCount - 1]
        let known = domain.flatMap(KnownDomain.init)
        if let domain, dataset.record.domains?.contains(domain) != true, let near = KnownDomain.domain(meantBy: domain) {
            hints.append("`\(domain)` is a domain of its own; did you mean `\(near)`?")
        }
        guard let selector else { return hints }
        hints += selector.hints.prefix(Self.hintsMax)
        // A domain of the user's own has what properties they like.
        guard domain == nil || known != nil else { return hints }
        for name in Selector.Advisor(selector).names.prefix(Self.hintsMax) {
            guard let near = KnownDomain.property(meantBy: name, in: known.map { [$0] } ?? KnownDomain.allCases) else { continue }
            hints.append("`\(name)` is no property of an update of a known domain; did you mean `\(near)`?")
        }
        return hints
    }

    private static let hintsMax = 10
}

extension Parameters {
    func liveFilter(in dataset: Dataset) throws(WireError) -> LiveFilter {
        let criteria = try CriteriaCoding.decode(value("criteria"), dataset: dataset.id)
        let condition = try optionalString("where").flatMap { $0.allSatisfy(\.isWhitespace) ? nil : $0 }
        let selector = try condition.map { text throws(WireError) in try Selector(checking: text, field: "where") }
        let area = try value("within").map { value throws(WireError) in try AreaCoding.decode(value) }
        return LiveFilter(
            criteria: criteria, condition: condition, selector: selector,
            within: value("within").map { String(decoding: $0.serialised(), as: UTF8.self) }, area: area)
    }

    /// Seconds from 1 on; more than the maximum is a `limit`.
    func lease(_ key: String, maximum: Double) throws(WireError) -> Double? {
        guard let lease = try optionalNumber(key, in: 1..., unit: "second") else { return nil }
        guard lease <= maximum else {
            throw WireError(
                .limit,
                "`\(key)` may be \(JSONValue.double(maximum).plain) seconds at most, not \(JSONValue.double(lease).plain)",
                field: key)
        }
        return lease
    }
}

extension JSONValue {
    fileprivate var plain: String { String(decoding: serialised(), as: UTF8.self) }
}
