import Places
import Wire
import Records

// place/verify

extension Hub {
    /// A device says that it is at one of its last candidates: a prior for the next request.
    func verifyPlace(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let device = try device(named: "deviceId", call)
        let (id, handle) = try place(named: "placeId", call)
        let book = call.dataset.places
        guard let isNew = book.verify(id, of: device.record.id) else {
            throw WireError(
                .invalid, "`placeId` must be among the candidates that `place/candidates` last told of the device",
                field: "placeId")
        }
        if isNew {
            let former = book.verifications[id] ?? [:]
            let hour = book.hourOfWeek(at: handle, call.now)
            let count = (former[hour] ?? 0) + 1
            book.setVerifications(of: id, in: hour, to: count)
            turn.keep(
                .put(VerificationRecord(dataset: call.dataset.id, placeID: id, hour: hour, count: count)))
        }
        return Array(#"{"verified":true}"#.utf8)
    }
}
