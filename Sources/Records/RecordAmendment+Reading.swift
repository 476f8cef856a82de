// How amendments are read as they were written.

extension MatchProgress {
    public init(of key: RecordKey, from fields: inout some FieldReader) throws(MalformedRow) {
        self.key = key
        (completed, fate) = try MatchFate.read(from: &fields)
    }
}

extension EventProgress {
    public init(of key: RecordKey, from fields: inout some FieldReader) throws(MalformedRow) {
        self.key = key
        (completed, fate) = try MatchFate.read(from: &fields)
    }
}

extension MatchFate {
    /// Behind the targets that are complete.
    fileprivate static func read(from fields: inout some FieldReader) throws(MalformedRow) -> (completed: UInt32, fate: Self) {
        let (completed, rank) = (fields.int64(), fields.int())
        guard let fate = Self(rank: rank) else { throw MalformedRow() }
        return (UInt32(truncatingIfNeeded: completed), fate)
    }
}

extension MatchEnd {
    public init(of key: RecordKey, from fields: inout some FieldReader) { self.key = key }
}

extension DeliveryAmendment {
    public init(of key: RecordKey, from fields: inout some FieldReader) {
        (self.key, delivery) = (key, Delivery(from: &fields))
    }
}

extension GeofenceDeliveryAmendment {
    public init(of key: RecordKey, from fields: inout some FieldReader) {
        (self.key, delivery) = (key, Delivery(from: &fields))
    }
}

extension HintsAmendment {
    public init(of key: RecordKey, from fields: inout some FieldReader) throws(MalformedRow) {
        (self.key, hints) = (key, try fields.list())
    }
}

extension GoneTargetsAmendment {
    public init(of key: RecordKey, from fields: inout some FieldReader) throws(MalformedRow) {
        (self.key, targets) = (key, try fields.optionalList() ?? [])
    }
}

extension AccessKeyUse {
    public init(of key: RecordKey, from fields: inout some FieldReader) { (self.key, at) = (key, fields.int64()) }
}
