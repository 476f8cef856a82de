/// What is to happen, in order of time and, at one time, of scheduling.
final class VirtualTime {
    private(set) var now: Int64 = 0
    private var events: [Event] = []
    private var count = 0

    private struct Event {
        var at: Int64
        var order: Int
        var action: () -> Void

        func isBefore(_ other: Self) -> Bool { (at, order) < (other.at, other.order) }
    }

    func after(_ milliseconds: Int64, _ action: @escaping () -> Void) {
        count += 1
        events.append(Event(at: now + max(0, milliseconds), order: count, action: action))
        var index = events.count - 1
        while index > 0, events[index].isBefore(events[(index - 1) / 2]) {
            events.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    func run(until end: Int64) {
        while let first = events.first, first.at <= end {
            removeFirst()
            now = first.at
            first.action()
        }
        now = end
    }

    private func removeFirst() {
        events.swapAt(0, events.count - 1)
        events.removeLast()
        var index = 0
        while true {
            let children = [2 * index + 1, 2 * index + 2].filter { $0 < events.count }
            guard let least = children.min(by: { events[$0].isBefore(events[$1]) }), events[least].isBefore(events[index]) else {
                return
            }
            events.swapAt(index, least)
            index = least
        }
    }
}
