import Testing

@testable import Datasets
@testable import Records

@Suite("Diagnostics and status, without a hub")
struct ReportingComponentTests {
    private func payloads(_ turn: inout Turn) -> [String] {
        defer { turn.effects.removeAll() }
        return turn.effects.output.payloads
    }

    @Test("A refusal is reported at once, the next of its topic a second later with their count")
    func diagnostics() {
        let diagnostics = Diagnostics(of: "d")
        var turn = Turn(at: 1000, seed: (1, 2))
        for _ in 0..<3 { diagnostics.reportOverload("d/x", "full", count: 1, &turn) }
        #expect(payloads(&turn) == [#"{"topic":"d/x","error":"limit","message":"full","count":1}"#])
        turn.now = 2000
        diagnostics.advance(&turn)
        #expect(payloads(&turn) == [#"{"topic":"d/x","error":"limit","message":"full","count":2}"#])
    }

    @Test("Of unknown datasets refusals are reported, of malformed ones the log gets the number")
    func unknownDatasets() {
        var unknown = UnknownDatasets()
        var turn = Turn(at: 1000, seed: (1, 2))
        let diagnostic = DiagnosticsWindow.Diagnostic(kind: .update, topic: "t", error: "invalid", message: "m", count: 1)
        unknown.report(diagnostic, of: "e", &turn)
        unknown.report(diagnostic, of: "live", &turn)
        unknown.note(&turn)
        #expect(turn.effects.notices == [.malformedDataset(count: 1)])
        #expect(payloads(&turn).count == 1 && unknown.count == 1)
        turn.now = 3000
        unknown.advance(&turn)
        #expect(unknown.count == 0)
    }

    @Test("A status is reported when it changed, every ten seconds at most")
    func status() {
        let dataset = Dataset(DatasetRecord(id: "d", createdAt: 0, updatedAt: 0, revision: ""))
        var turn = Turn(at: 1000, seed: (1, 2))
        dataset.reportStatus(beside: nil, &turn)
        dataset.requestCounters.received += 1
        dataset.reportStatus(beside: nil, &turn)
        #expect(payloads(&turn).count == 1)
        turn.now = 11_000
        dataset.reportStatus(beside: nil, &turn)
        dataset.reportStatus(beside: nil, &turn)
        #expect(payloads(&turn).count == 1)
    }
}

extension OutputBatch {
    /// What leaves, as text.
    var payloads: [String] { items.map { String(decoding: bytes[$0.payload], as: UTF8.self) } }
}
