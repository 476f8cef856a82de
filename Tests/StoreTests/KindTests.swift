import Testing

@testable import Records
@testable import Store

@Suite("The table of kinds")
struct KindTests {
    @Test("A record has a field for each column of its kind, and is read as it was written", arguments: Kind.allCases)
    func codecs(_ kind: Kind) throws {
        let records = EveryKind.changes.compactMap { change -> (any DurableRecord)? in
            if case .put(let record) = change, record.kind == kind { record } else { nil }
        }
        #expect(!records.isEmpty)
        for record in records {
            var fields = FieldCollector()
            record.write(to: &fields)
            #expect(fields.fields.count == kind.row.columns.count)
            #expect(fields.fields.starts(with: record.key.fields) && record.key.fields.count == kind.row.keyCount)
            var reader = CollectedFields(fields.fields)
            let read = try kind.row.type.init(from: &reader)
            #expect(record.isEqual(to: read))
        }
    }

    @Test("Changes are read from bytes as they were written; what cannot be repeated is said to be so")
    func bytes() throws {
        var repeated: [DurableChange] = []
        let gone = DurableChange.putGoneTargets(dataset: "city", deviceId: "tag", ["fcm"])
        for change in EveryKind.changes + [gone] {
            switch change {
            case .putDocument: #expect(try ChangeBytes.decode(ChangeBytes.encode([change])) == nil)
            case .expire, .forgetTombstones, .countDocuments: #expect(try ChangeBytes.decode(ChangeBytes.encode([change])) == [])
            default: repeated.append(change)
            }
        }
        var (amended, amendments): (Set<[String]>, Set<[String]>) = ([], [])
        for case .amend(let amendment) in repeated { amended.insert(type(of: amendment).columns) }
        for kind in Kind.allCases {
            for type in kind.row.amendments { amendments.insert(type.columns) }
        }
        #expect(amended == amendments)
        let bytes = ChangeBytes.encode(repeated)
        #expect(try ChangeBytes.decode(bytes) == repeated)
        #expect(try ChangeBytes.decode([]) == [])
        for cut in [1, bytes.count / 2, bytes.count - 1] {
            #expect(throws: MalformedRow.self) { try ChangeBytes.decode(Array(bytes[..<cut])) }
        }
    }

    @Test("An amendment replaces fields of its kind", arguments: Kind.allCases)
    func amendments(_ kind: Kind) {
        for type in kind.row.amendments {
            #expect(type.kind == kind && Set(type.columns).isSubset(of: kind.row.columns[kind.row.keyCount...]))
        }
    }

    @Test(
        "What refers to a record goes before what it refers to, as far as its deletion, its forgetting and its replacement reach")
    func cascades() {
        func texts(_ removals: [KindRow.Removal]) -> [String] {
            removals.map { "\($0.kind) \($0.path.map(\.column).joined(separator: " > "))" }
        }
        let pairs = ["subscription", "publication"].map { "\($0)Id > deviceId" }
        #expect(
            texts(Kind.device.row.deletion) == [
                "pair \(pairs[1])", "visit \(pairs[1])", "publication deviceId", "pair \(pairs[0])", "visit \(pairs[0])",
                "subscription deviceId", "held deviceId", "placeVisit deviceId", "stay deviceId", "geofenceVisit deviceId",
                "match deviceId",
            ])
        #expect(
            texts(Kind.device.row.forgetting) == [
                "pair \(pairs[1])", "visit \(pairs[1])", "pair \(pairs[0])", "visit \(pairs[0])", "placeVisit deviceId",
                "stay deviceId", "match deviceId",
            ])
        #expect(texts(Kind.circumstance.row.replacement) == ["held circumstanceId"])
        #expect(texts(Kind.place.row.deletion) == ["verification placeId"])
    }
}
