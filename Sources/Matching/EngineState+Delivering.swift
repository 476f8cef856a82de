import Geodesy
import Selectors

/// A meeting, or the begin of a visit, until it is handed over: nobody moves before that.
struct Encounter: BitwiseCopyable {
    var subscription, publication: UInt32
    var distance: Double
    var at: Int64
}

/// The end of a visit until it is handed over: nobody moves before that.
struct Parting {
    var subscription, publication: UInt32
    var reason: VisitEnd.Reason
    var distance: Double?
    var at: Int64
}

// What an input led to, in the order of its effects. Effects are a hundred bytes and more: they are put together where they go.
extension EngineState {
    /// Hands what one input led to over, in their order.
    @inline(__always)
    mutating func finish(into effects: inout [Effect]) {
        searchLeft = Self.searchedBytesMaximum
        if newcomers.count > 0 || !meetings.isEmpty || doubts.count > 0 || !ends.isEmpty || !stays.isEmpty {
            deliver(into: &effects)
        }
    }

    @inline(never)
    private mutating func deliver(into effects: inout [Effect]) {
        admitNewcomers()
        deliverEnds(into: &effects)
        deliverStays(into: &effects)
        deliverMeetings(into: &effects)
        for one in exceeded { effects.append(.capacityExceeded(one)) }
        exceeded.removeAll(keepingCapacity: true)
        deliverMismatches(into: &effects)
    }

    private mutating func deliverMismatches(into effects: inout [Effect]) {
        doubts.sort(from: 0)
        var advisor: (program: UInt32, words: Selector.Advisor)?
        for place in 0..<doubts.count {
            let subscription = UInt32(truncatingIfNeeded: doubts[place] >> 32)
            let publication = UInt32(truncatingIfNeeded: doubts[place])
            let record = subscriptions.base + Int(subscription)
            guard record.pointee.hintsLeft > 0 else { continue }
            record.pointee.entry.traits -= 1
            let program = record.pointee.program
            if advisor?.program != program { advisor = (program, Selector.Advisor(programs.selector(program))) }
            let hints = advisor?.words.mismatches(in: properties.base[Int(publication)]) ?? []
            guard !hints.isEmpty else { continue }
            effects.append(.mismatch(SubscriptionRef(index: subscription), hints))
            record.pointee.entry.traits &= 0x80
        }
        doubts.truncate(to: 0)
    }

    private mutating func deliverMeetings(into effects: inout [Effect]) {
        guard !meetings.isEmpty else { return }
        ordering.removeAll()
        for meeting in meetings { ordering.append(meeting.subscription, meeting.publication) }
        ordering.sort()
        for number in 0..<meetings.count {
            let encounter = meetings[ordering[number]]
            let subscription = subscriptions.base + Int(encounter.subscription)
            let here = devices.base + Int(publications[encounter.publication].device)
            let there = devices.base + Int(subscription.pointee.device)
            let meeting = Meeting(
                publication: PublicationRef(index: encounter.publication),
                subscription: SubscriptionRef(index: encounter.subscription), distance: encounter.distance,
                publicationPosition: here.pointee.isPlaced ? here.pointee.position : nil,
                subscriptionPosition: there.pointee.isPlaced ? there.pointee.position : nil, at: encounter.at)
            effects.append(subscription.pointee.isVisit ? .visitBegan(meeting) : .met(meeting))
        }
        meetings.removeAll(keepingCapacity: true)
    }

    private mutating func deliverStays(into effects: inout [Effect]) {
        guard !stays.isEmpty else { return }
        ordering.removeAll()
        for stay in stays { ordering.append(stay.subscription.index, stay.publication.index) }
        ordering.sort()
        for number in 0..<stays.count { effects.append(.stay(stays[ordering[number]])) }
        stays.removeAll(keepingCapacity: true)
    }

    mutating func deliverEnds(into effects: inout [Effect]) {
        guard !ends.isEmpty else { return }
        ordering.removeAll()
        for end in ends { ordering.append(end.subscription, end.publication) }
        ordering.sort()
        for number in 0..<ends.count {
            let parting = ends[ordering[number]]
            let here = devices.base + Int(publications[parting.publication].device)
            let there = devices.base + Int(subscriptions[parting.subscription].device)
            effects.append(
                .visitEnded(
                    VisitEnd(
                        publication: PublicationRef(index: parting.publication),
                        subscription: SubscriptionRef(index: parting.subscription), reason: parting.reason,
                        distance: parting.distance, publicationPosition: here.pointee.isPlaced ? here.pointee.position : nil,
                        subscriptionPosition: there.pointee.isPlaced ? there.pointee.position : nil, at: parting.at)))
        }
        ends.removeAll(keepingCapacity: true)
    }
}
