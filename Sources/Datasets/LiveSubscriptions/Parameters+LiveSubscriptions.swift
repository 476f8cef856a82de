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
