import SeededRandom
import Testing
import Wire

@testable import Datasets

@Suite("Diagnostics")
struct DiagnosticsTests {
    @Test("The first refusal of a topic is reported at once, the rest with a count when its second ends")
    func rest() {
        let harness = HubHarness()
        _ = harness.request("dataset/create", client: "admin")
        harness.published.removeAll()
        for _ in 0..<5 { harness.send("d/-/-/-/-/l/co2", #"{"co2":"x"}"#) }
        #expect(harness.diagnostics().map { $0["count"]?.number } == [1])
        harness.advance(milliseconds: 900)
        #expect(harness.diagnostics().count == 1)
        harness.advance(milliseconds: 100)
        #expect(harness.diagnostics().map { $0["count"]?.number } == [1, 4])
        #expect(harness.diagnostics().last?.keys == ["topic", "error", "message", "field", "count"])
        harness.advance(milliseconds: 5000)
        #expect(harness.diagnostics().count == 2)
        harness.send("d/-/-/-/-/l/co2", "rubbish")
        #expect(harness.diagnostics().count == 3 && harness.diagnostics().last?["field"] == nil)
    }

    @Test(
        "A request topic with too few or too many levels was reported nowhere",
        arguments: [
            ("d/bob/request/device", true), ("d/bob/request", true), ("d/bob/request/", true), ("d/bob/request/device/", true),
            ("d/bob/request/device/list/x", true), ("d/request", false), ("d/request/device", false),
            ("d/request/device/list", false), ("d/bob/requests", false), ("d/bob/requests/device/list", false),
        ])
    func malformedRequest(_ topic: String, isAnswered: Bool) {
        let harness = HubHarness()
        _ = harness.request("dataset/create", client: "admin")
        harness.published.removeAll()
        harness.send("geomatch/" + topic, "{}")
        let seen = harness.diagnostics("request")
        #expect(seen.map { $0["topic"]?.text } == ["geomatch/" + topic] && seen.first?["error"]?.text == "invalid", "\(seen)")
        #expect(harness.takeReply(client: "bob")?["error"]?["error"]?.text == (isAnswered ? "notFound" : nil))
        harness.send("geomatch/d/bob/request/device/lst", "{}")
        #expect(harness.diagnostics("request").count == 1)
    }

    @Test("Beyond a hundred topics a second the rest is summed in one, whose topic is #")
    func excess() {
        let harness = HubHarness()
        _ = harness.request("dataset/create", client: "admin")
        harness.published.removeAll()
        for number in 0..<250 { harness.send("d/-/-/-/-/\(number)/co2", "rubbish") }
        #expect(harness.diagnostics().count == 100)
        harness.advance(milliseconds: 1000)
        #expect(harness.diagnostics().count == 101)
        #expect(harness.diagnostics().last?["topic"]?.text == "#" && harness.diagnostics().last?["count"]?.number == 150)
        #expect(harness.counters.updates.refused == 250)
    }

    @Test("No topic is reported twice within a second, no more than a hundred topics, and every refusal is reported")
    func bounds() {
        var random = SplitMix64(seed: SplitMix64.seed())
        var window = DiagnosticsWindow()
        var now: Int64 = 1_000_000
        var seen: [(topic: String, at: Int64)] = []
        var reported = 0
        var count = 0
        for step in 0..<20_000 {
            now += Int64.random(in: 0...20, using: &random)
            for diagnostic in window.end(at: now) {
                seen.append((diagnostic.topic, now))
                count += diagnostic.count
            }
            let topic = String(Int.random(in: 0..<(step % 4000 < 2000 ? 5 : 300), using: &random))
            reported += 1
            let diagnostic = DiagnosticsWindow.Diagnostic(kind: .update, topic: topic, error: "invalid", message: "", count: 1)
            if let first = window.report(diagnostic, at: now) {
                seen.append((first.topic, now))
                count += first.count
            }
        }
        for _ in 0..<3 {
            now += 1000
            count += window.end(at: now).map(\.count).reduce(0, +)
        }
        #expect(count == reported)
        #expect(window.isIdle)
        var last: [String: Int64] = [:]
        var first = 0
        for (index, entry) in seen.enumerated() {
            if let before = last[entry.topic] { #expect(entry.at - before >= 1000) }
            last[entry.topic] = entry.at
            while seen[first].at <= entry.at - 1000 { first += 1 }
            #expect(index - first < DiagnosticsWindow.reportedMaximum + 1)
        }
    }

    @Test("Datasets that do not exist are reported too, and only so many of them")
    func strangers() {
        let harness = HubHarness { $0.autoCreateDatasets = false }
        for number in 0..<3000 { harness.send("x\(number)/-/-/-/-/l/co2", #"{"co2":1}"#) }
        #expect(harness.hub.unknownDatasets.count == 1000)
        #expect(harness.published.count == 1000)
        harness.advance(milliseconds: 1100)
        #expect(harness.hub.unknownDatasets.count == 0)
    }
}
