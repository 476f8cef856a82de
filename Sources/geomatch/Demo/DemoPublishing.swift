import GeomatchClient
import Wire

/// Something that goes on by the second.
protocol DemoScene {
    var second: Int { get }
    /// How long it lasts.
    var seconds: Int { get }
    /// What time it is there, for people.
    var clock: String { get }
    /// What it was like, for programs and for people.
    var details: JSONObject { get }
    var outcome: String { get }
    /// Goes on by a second.
    ///
    /// - Returns: What is published in it, in order.
    mutating func next() -> [DemoDay.Update]
}

extension DemoScene {
    var isOver: Bool { second >= seconds }
}

extension DemoDay: DemoScene {
    var details: JSONObject {
        [
            "people": .integer(Int64(figures.people)), "rooms": .integer(Int64(building.rooms.count)),
            "floors": .integer(Int64(building.floors)),
        ]
    }

    var outcome: String {
        "\(figures.people) people (\(figures.mostInside) at once), \(building.deskCount) desks, "
            + "\(building.rooms.count) rooms on \(building.floors) floors; \(faults)"
    }
}

/// Publishes a day at a multiple of real time, each update with the moment it goes out.
///
/// What the broker had not acknowledged when a connection was lost goes out again, in order, and the day does not go on meanwhile.
/// Guarded by the connection's lock until it is done.
final class DemoPublishing<Scene: DemoScene>: ConnectionWorker, @unchecked Sendable {
    private let topics: ClientTopics
    private var day: Scene
    private let speed: Double
    private var progress: ProgressLine
    private var queue: ArraySlice<DemoDay.Update> = []
    /// By token, which counts what was published.
    private var unacknowledged: [UInt64: DemoDay.Update] = [:]
    private var published: UInt64 = 0

    private var startedAt: Int64?
    /// From where the day is counted: later than its start by as long as it did not go on.
    private var dayStart: Int64 = 0
    private var lostAt: Int64?
    private var finishedAt: Int64?
    private var lossCount = 0
    private var refusedCount = 0
    private var unheardCount = 0

    private static var unacknowledgedMax: Int { 200 }
    /// Simulated seconds in one turn of the loop, so that it also reads and writes.
    private static var burst: Int { 100 }

    /// - Parameter speed: Above 0.
    init(_ topics: ClientTopics, day: Scene, speed: Double, progress: ProgressLine) {
        self.day = day
        self.speed = speed
        self.progress = progress
        self.topics = topics
    }

    private var seconds: Double {
        Double(max(1, (finishedAt ?? WallClock.now()) - (startedAt ?? WallClock.now()))) / 1000
    }

    /// For programs.
    func result(isComplete: Bool, seed: UInt64) -> JSONValue {
        var result: JSONObject = [
            "complete": .bool(isComplete), "seed": .integer(Int64(clamping: seed)), "updates": .integer(Int64(published)),
            "seconds": .double(seconds),
        ]
        for member in day.details.members { result[member.key] = member.value }
        result["refused"] = .integer(Int64(refusedCount))
        result["unheard"] = .integer(Int64(unheardCount))
        result["connectionsLost"] = .integer(Int64(lossCount))
        return .object(result)
    }

    /// One line for standard error.
    func summary(isComplete: Bool) -> String {
        var text = "\(isComplete ? "the day is over" : "interrupted at \(day.clock)"): \(published) updates in "
        text += "\(PlainText.decimal(seconds, 1)) s (\(PlainText.decimal(Double(published) / seconds, 0))/s), "
        text += day.outcome
        if lossCount > 0 { text += "; connection lost \(lossCount) times" }
        if refusedCount > 0 { text += "; \(refusedCount) refused by the broker" }
        if unheardCount > 0 { text += "; \(unheardCount) while nobody listened: is geomatchd running?" }
        return text
    }

    func connected() {
        let now = WallClock.now()
        if startedAt == nil { (startedAt, dayStart) = (now, now) }
        if let lostAt { dayStart += max(0, now - lostAt) }
        lostAt = nil
        let again = unacknowledged.sorted { $0.key < $1.key }.map(\.value)
        unacknowledged.removeAll()
        queue = (again + queue)[...]
    }

    func lost(_ error: GeomatchError) {
        lossCount += 1
        lostAt = lostAt ?? WallClock.now()
    }

    func acknowledged(token: UInt64, reason: UInt8) {
        unacknowledged[token] = nil
        if reason == 0x10 { unheardCount += 1 }
        if reason >= 0x80 { refusedCount += 1 }
    }

    func turn(_ link: WorkerLink, now: Int64) throws(GeomatchError) -> Int64? {
        guard startedAt != nil, link.isConnected else { return .max }
        var seconds = 0
        while true {
            guard try publishQueue(link, now) else { return progress.next }
            guard !day.isOver else { break }
            let due = due(day.second)
            guard due <= now else { return min(due, showProgress(now)) }
            guard seconds < Self.burst else {
                _ = showProgress(now)
                return now
            }
            queue = day.next()[...]
            seconds += 1
        }
        guard unacknowledged.isEmpty else { return .max }
        finishedAt = now
        progress.finish()
        return nil
    }

    private func showProgress(_ now: Int64) -> Int64 {
        progress.show(day.second, startedAt: startedAt ?? now, now: now)
        return progress.next
    }

    /// - Returns: Whether all of it went out.
    private func publishQueue(_ link: WorkerLink, _ now: Int64) throws(GeomatchError) -> Bool {
        while let update = queue.first {
            guard unacknowledged.count < Self.unacknowledgedMax,
                try link.publish(
                    topic: topics.update(update.levels), payload: payload(of: update, now), qos: 1, token: published + 1)
            else { return false }
            published += 1
            unacknowledged[published] = update
            queue.removeFirst()
        }
        return true
    }

    private func due(_ second: Int) -> Int64 {
        let offset = Double(second) * 1000 / speed
        return offset < 1e15 ? dayStart + Int64(offset) : .max / 2
    }

    private func payload(of update: DemoDay.Update, _ now: Int64) -> [UInt8] {
        guard var properties = update.properties else { return [] }
        properties["timestamp"] = .integer(now)
        return JSONValue.object(properties).serialised()
    }
}
