// The lists a fact is in: of its observer, of its beacon, and of the second in which it is over.
extension ProximityTable {
    enum List {
        case observer
        case beacon
        case second

        private static let offsets = (
            observer: MemoryLayout<ProximityFact>.offset(of: \.ofObserver) ?? 0,
            beacon: MemoryLayout<ProximityFact>.offset(of: \.ofBeacon) ?? 0,
            second: MemoryLayout<ProximityFact>.offset(of: \.ofSecond) ?? 0
        )

        var offset: Int {
            switch self {
            case .observer: Self.offsets.observer
            case .beacon: Self.offsets.beacon
            case .second: Self.offsets.second
            }
        }
    }

    func reach(_ observer: UInt32, _ beacon: UInt32) {
        while firstOfObserver.count <= Int(observer) {
            firstOfObserver.append(none)
            countOfObserver.append(0)
        }
        while firstOfBeacon.count <= Int(beacon) { firstOfBeacon.append(none) }
    }

    func link(_ number: UInt32) {
        let fact = memory.facts[Int(number)]
        push(number, .observer, &firstOfObserver[Int(fact.observer)])
        push(number, .beacon, &firstOfBeacon[Int(fact.beacon)])
        countOfObserver[Int(fact.observer)] += 1
    }

    func unlink(_ number: UInt32) {
        let fact = memory.facts[Int(number)]
        pull(number, .observer, &firstOfObserver[Int(fact.observer)])
        pull(number, .beacon, &firstOfBeacon[Int(fact.beacon)])
        countOfObserver[Int(fact.observer)] -= 1
    }

    static func second(_ instant: Int64) -> Int64 { instant >= 0 ? instant / 1000 : (instant - 999) / 1000 }

    func enterSecond(_ number: UInt32) { push(number, .second, &seconds[secondOver(number)]) }

    /// Before the instant it was seen at changes.
    func leaveSecond(_ number: UInt32) { pull(number, .second, &seconds[secondOver(number)]) }

    private func secondOver(_ number: UInt32) -> Int {
        Int(Self.second(memory.facts[Int(number)].seenAt + Self.factMilliseconds) & 127)
    }

    private func links(_ number: UInt32, _ list: List) -> UnsafeMutablePointer<ProximityFact.Links> {
        UnsafeMutableRawPointer(memory.facts.pointer(Int(number))).advanced(by: list.offset).assumingMemoryBound(
            to: ProximityFact.Links.self)
    }

    private func push(_ number: UInt32, _ list: List, _ first: inout UInt32) {
        links(number, list).pointee = ProximityFact.Links(next: first, previous: none)
        if first != none { links(first, list).pointee.previous = number }
        first = number
    }

    private func pull(_ number: UInt32, _ list: List, _ first: inout UInt32) {
        let own = links(number, list).pointee
        if own.previous == none { first = own.next } else { links(own.previous, list).pointee.next = own.next }
        if own.next != none { links(own.next, list).pointee.previous = own.previous }
    }
}
