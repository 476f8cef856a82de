import Matching
import Records

/// A publication as the hub holds it.
final class Publication {
    var record: PublicationRecord
    let reference: PublicationRef
    /// The numbers of the subscriptions that have a visit of it under way, or a stay that may become one.
    var visitors: Set<UInt32> = []
    /// The first instant at which it no longer lives.
    var expiresAt: Int64 { deadline(from: record.createdAt, duration: record.duration) }

    init(_ record: PublicationRecord, reference: PublicationRef) {
        self.record = record
        self.reference = reference
    }
}

/// When something created then with this duration in seconds ceases to live; durations have no upper limit.
func deadline(from createdAt: Int64, duration: Double) -> Int64 {
    let milliseconds = duration * 1000
    guard milliseconds < 4e18 else { return .max }
    let sum = createdAt.addingReportingOverflow(Int64(milliseconds.rounded(.up)))
    return sum.overflow ? .max : sum.partialValue
}
