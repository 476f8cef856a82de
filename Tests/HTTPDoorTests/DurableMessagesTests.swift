import Datasets
import Foundation
import Testing

@testable import HTTPDoor

@Suite("What was sent and can be resumed")
struct DurableMessagesTests {
    private func withFolder(_ body: (String) throws -> Void) throws {
        let folder = NSTemporaryDirectory() + "http-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try body(folder)
    }

    private func stored(_ number: Int64, for key: StreamKey, at: Int64) -> MessageFile.Stored {
        MessageFile.Stored(number: number, at: at, key: key, path: "match/x/y", payload: [])
    }

    @Test("What was sent before a restart can be resumed after it")
    func restart() throws {
        let folder = NSTemporaryDirectory() + "http-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let key = StreamKey(dataset: "d", client: "a")
        func stored(_ number: Int64) -> MessageFile.Stored {
            MessageFile.Stored(number: number, at: 1000 + number, key: key, path: "match/x/\(number)", payload: [UInt8(number)])
        }
        for life in 0..<3 {
            let first = Int64(life * 2)
            let file = MessageFile(folder: folder)
            let contents = file.read()
            let messages = DurableMessages(contents, startedAfter: first, at: 2000)
            #expect(messages.messages(after: 0, for: key).messages.map(\.cursor) == (0..<first).map { $0 + 1 })
            #expect(!messages.messages(after: 0, for: key).isGap)
            for number in (first + 1)...(first + 2) { file.append(stored(number), after: number - 1) }
            file.flush()
        }
        // What the store has no longer given is not given again, and what was lost is a gap.
        let contents = MessageFile(folder: folder).read()
        #expect(DurableMessages(contents, startedAfter: 3, at: 2000).messages(after: 0, for: key).messages.count == 3)
        #expect(DurableMessages(MessageFile.Contents(), startedAfter: 3, at: 2000).messages(after: 0, for: key).isGap)
    }

    @Test("What was sent in the last hour can be resumed, 10,000 for a client, and what is gone is reported")
    func durable() {
        var messages = DurableMessages(startedAfter: 100)
        let (key, other) = (StreamKey(dataset: "d", client: "a"), StreamKey(dataset: "d", client: "b"))
        #expect(messages.messages(after: 100, for: key).isGap == false && messages.messages(after: 99, for: key).isGap)
        let numbers: [(number: Int64, key: StreamKey, at: Int64)] = [
            (101, key, 0), (101, key, 0), (102, other, 0), (103, key, 10), (104, key, DurableMessages.lifetimeMilliseconds),
        ]
        let isNew = numbers.map { messages.append("match/x/y", [1], number: $0.number, for: $0.key, at: $0.at) }
        #expect(isNew == [true, false, true, true, true])
        let resumed = messages.messages(after: 100, for: key)
        #expect(resumed.isGap && resumed.messages.map(\.cursor) == [103, 104])
        #expect(!messages.messages(after: 101, for: key).isGap)
        for number in 200..<10_300 {
            _ = messages.append("m", [], number: Int64(number), for: key, at: DurableMessages.lifetimeMilliseconds)
        }
        #expect(messages.messages(after: 0, for: key).messages.count == DurableMessages.countMax)
        messages.advance(to: 3 * DurableMessages.lifetimeMilliseconds)
        #expect(messages.bytes == 0)
        // Of a client whose messages are all gone nothing is kept but that.
        #expect(messages.messages(after: 0, for: key).isGap && !messages.messages(after: 10_299, for: key).isGap)
    }

    @Test("Where too much is kept for those who resume, the client that has most loses its oldest")
    func share() {
        var messages = DurableMessages(startedAfter: 0, bytesMax: 100_000)
        let (large, small) = (StreamKey(dataset: "d", client: "large"), StreamKey(dataset: "d", client: "small"))
        for number in 1...10 { _ = messages.append("m", [1], number: Int64(number), for: small, at: 0) }
        for number in 11...200 {
            _ = messages.append("m", [UInt8](repeating: 0, count: 5000), number: Int64(number), for: large, at: 0)
        }
        for number in 201...210 { _ = messages.append("m", [1], number: Int64(number), for: small, at: 0) }
        #expect(messages.bytes <= 100_000)
        #expect(messages.messages(after: 0, for: small).messages.count == 20 && !messages.messages(after: 0, for: small).isGap)
        let left = messages.messages(after: 0, for: large)
        #expect(left.isGap && left.messages.last?.cursor == 200 && (10...20).contains(left.messages.count))
    }

    @Test("What a dataset forgets is a gap for those of its clients that had it, and for nobody else in the next life")
    func forgottenElsewhere() throws {
        try withFolder { folder in
            let (loser, other) = (StreamKey(dataset: "private", client: "a"), StreamKey(dataset: "d", client: "a"))
            let file = MessageFile(folder: folder)
            file.append(stored(1, for: loser, at: 1000), after: 0)
            file.append(stored(2, for: other, at: 1000), after: 1)
            file.forget(ForgottenMessages(Forgotten(dataset: "private")), through: 2, at: 1000)
            file.append(stored(3, for: loser, at: 1000), after: 2)
            file.flush()
            let messages = DurableMessages(MessageFile(folder: folder).read(), startedAfter: 3, at: 2000)
            let rows: [(key: StreamKey, cursor: Int64, isGap: Bool, numbers: [Int64])] = [
                (loser, 0, true, [3]), (loser, 1, false, [3]), (loser, 3, false, []),
                (other, 0, false, [2]), (other, 2, false, []),
                (StreamKey(dataset: "private", client: "new"), 0, false, []),
            ]
            for row in rows {
                let found = messages.messages(after: row.cursor, for: row.key)
                #expect(found.isGap == row.isGap && found.messages.map(\.cursor) == row.numbers, "\(row)")
            }
        }
    }

    @Test("A message that is forgotten is in no file any more, what was sent beside and after it is")
    func forgottenInFiles() throws {
        try withFolder { folder in
            let (key, other) = (StreamKey(dataset: "d", client: "a"), StreamKey(dataset: "d", client: "b"))
            let hour = DurableMessages.lifetimeMilliseconds
            func message(_ number: Int64, about device: String, for key: StreamKey, at: Int64) -> MessageFile.Stored {
                let payload = #"{"event":"entered","deviceId":"\#(device)","secret":"s-\#(number)"}"#
                return MessageFile.Stored(number: number, at: at, key: key, path: "geofence/home", payload: Array(payload.utf8))
            }
            let file = MessageFile(folder: folder)
            // The last one begins another file, and the first one is old by then.
            let rows: [(number: Int64, device: String, key: StreamKey, at: Int64)] = [
                (1, "tag", key, 0), (2, "phone", key, hour / 2), (3, "tag", key, hour / 2), (4, "phone", other, hour / 2),
                (5, "tag", key, hour),
            ]
            for row in rows {
                file.append(message(row.number, about: row.device, for: row.key, at: row.at), after: row.number - 1)
            }
            for device in ["nobody", "phone", "nobody"] {
                file.forget(ForgottenMessages(Forgotten(dataset: "d", device: device)), through: 5, at: hour)
            }
            file.append(message(6, about: "phone", for: key, at: hour), after: 5)
            file.flush()
            let text = try String(contentsOfFile: folder + "/http-messages", encoding: .utf8)
            #expect(!text.contains("s-2") && !text.contains("s-4") && text.contains("s-3") && text.contains("s-6"), "\(text)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["http-messages"])
            let contents = MessageFile(folder: folder).read()
            #expect(contents.messages.map(\.number) == [3, 5, 6], "\(contents)")
            let messages = DurableMessages(contents, startedAfter: 6, at: hour)
            #expect(messages.messages(after: 1, for: key).isGap && !messages.messages(after: 2, for: key).isGap)
            #expect(messages.messages(after: 3, for: other).isGap && !messages.messages(after: 4, for: other).isGap)
        }
    }

    @Test(
        "About a device are its own matches and events, not others' matches with it",
        arguments: [
            (#"{"event":"matched","publication":{"deviceId":"pin"},"subscription":{"deviceId":"phone"}}"#, true),
            (#"{"event":"matched","publication":{"deviceId":"phone"},"subscription":{"deviceId":"other"}}"#, false),
            (#"{"event":"entered","deviceId":"phone","location":{"latitude":1,"longitude":2}}"#, true),
            (#"{"event":"entered","deviceId":"phones"}"#, false),
            (#"{"event":"entered","name":"\"deviceId\":\"phone\"","deviceId":"other"}"#, false),
        ])
    func aboutDevice(payload: String, isIncluded: Bool) {
        let messages = ForgottenMessages(Forgotten(dataset: "d", device: "phone"))
        #expect(messages.include(Array(payload.utf8)) == isIncluded)
    }

    @Test("A client whose last message is long ago has no gap for what others had since")
    func quiet() {
        var messages = DurableMessages(startedAfter: 0)
        let (quiet, busy) = (StreamKey(dataset: "d", client: "quiet"), StreamKey(dataset: "d", client: "busy"))
        let hour = DurableMessages.lifetimeMilliseconds
        _ = messages.append("m", [], number: 1, for: quiet, at: 0)
        _ = messages.append("m", [], number: 2, for: busy, at: hour)
        messages.advance(to: 3 * hour)
        #expect(messages.bytes == 0)
        #expect(!messages.messages(after: 1, for: quiet).isGap && messages.messages(after: 0, for: quiet).isGap)
        #expect(!messages.messages(after: 0, for: StreamKey(dataset: "d", client: "new")).isGap)
        _ = messages.append("m", [], number: 3, for: quiet, at: 3 * hour)
        #expect(!messages.messages(after: 1, for: quiet).isGap && messages.messages(after: 0, for: quiet).isGap)
        #expect(messages.messages(after: 1, for: quiet).messages.map(\.cursor) == [3])
    }

    @Test("Of more clients than are remembered, a gap is reported to those that are not")
    func manyQuiet() {
        var messages = DurableMessages(startedAfter: 0, quiet: LastNumbers(clientsMax: 10))
        func key(_ number: Int64) -> StreamKey { StreamKey(dataset: "d", client: "\(number)") }
        for number in 1...Int64(20) { _ = messages.append("m", [], number: number, for: key(number), at: 0) }
        messages.advance(to: 3 * DurableMessages.lifetimeMilliseconds)
        #expect(!messages.messages(after: 20, for: key(20)).isGap && messages.messages(after: 19, for: key(20)).isGap)
        #expect(messages.messages(after: 0, for: key(21)).isGap && !messages.messages(after: 20, for: key(21)).isGap)
        var numbers = LastNumbers(clientsMax: 10)
        let dropped = (1...Int64(11)).map { numbers.note($0, of: key($0)) }
        #expect(dropped.dropLast().allSatisfy { $0 == nil } && dropped.last == 2)
        #expect(numbers.numbers.values.sorted() == Array(3...11))
    }

    @Test("A client whose last message is in no file any more has no gap after a restart")
    func quietOverRestart() throws {
        try withFolder { folder in
            let (quiet, busy) = (StreamKey(dataset: "d", client: "quiet"), StreamKey(dataset: "d", client: "busy"))
            let hour = DurableMessages.lifetimeMilliseconds
            // Each hour begins another file, of which two are kept.
            let former = MessageFile(folder: folder)
            former.append(stored(1, for: quiet, at: 0), after: 0)
            former.flush()
            let file = MessageFile(folder: folder)
            _ = file.read()
            for number in 2...Int64(5) { file.append(stored(number, for: busy, at: hour * number), after: number - 1) }
            file.flush()
            let contents = MessageFile(folder: folder).read()
            #expect(contents.messages.map(\.number) == [4, 5] && contents.after == 3, "\(contents)")
            let messages = DurableMessages(contents, startedAfter: 5, at: 5 * hour)
            #expect(!messages.messages(after: 1, for: quiet).isGap && messages.messages(after: 0, for: quiet).isGap)
            // Of whom nothing is known, nobody can say.
            #expect(messages.messages(after: 1, for: StreamKey(dataset: "d", client: "new")).isGap)
        }
    }
}
