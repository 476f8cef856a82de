import LiveTopics
import Wire

extension WireError {
    /// A level of a topic or of criteria names what a strict dataset does not know.
    ///
    /// - Parameter level: 1…6, venue to domain.
    static func undeclared(_ level: Int, _ id: String, in dataset: String) -> WireError {
        let name = LiveTopic.levelNames[level]
        return WireError(
            .notFound, "the \(name) `\(id)` is not declared, and the dataset `\(dataset)` is strict", field: name)
    }
}
