import Geodesy
import Selectors

// Classes: a topic's subscriptions apart by what they ask for.
//
// A topic with few subscriptions keeps them together, since a scan of them costs less than looking keys up. From as many on as
// make a grid worth its while, each subscription is in the class of one of its access paths, or with the rest where it has
// none. A publication looks at the rest and at the classes its own properties lead to: a handful, however many there are.
extension EngineState {
    @inline(__always)
    func holder(_ group: UInt32) -> UnsafeMutablePointer<TopicSide> {
        group & LaneClasses.mark == 0 ? topics.side(group >> 1, Side(group)) : classes.holder(group)
    }

    /// The group an entry's lane is to be in.
    mutating func chooseGroup(_ side: Side, _ index: UInt32) -> UInt32 {
        let entry = entry(side, index)
        let topic = entry.pointee.topic
        let rest = Topics.group(topic, side)
        guard side == .subscription, topics.topic(topic).pointee.isClassified else { return rest }
        let paths = programs.paths(subscriptions[index].program)
        guard let path = narrowest(paths, topic) else { return rest }
        if let number = classes.find(topic, path) { return number | LaneClasses.mark }
        guard let number = classes.make(topic, path, next: topics.topic(topic).pointee.firstClass) else { return rest }
        topics.topic(topic).pointee.firstClass = number
        return number | LaneClasses.mark
    }

    /// The path whose class is the smallest: what few ask for is what few publications have, as far as can be known. A class
    /// of up to eight is as good as one that is yet to be made.
    private func narrowest(_ paths: [AccessPath], _ topic: UInt32) -> AccessPath? {
        var best: AccessPath?
        var least = UInt32.max
        // Only paths of the narrowest kind compete: many lanes of one value beat a few of those that name it at all.
        for path in paths where path.kind == paths[0].kind {
            let count = classes.find(topic, path).map { classes.classes[$0].lanes.count }
            // One that is there wins over one that is not.
            let cost = count.map { max($0, 8) * 2 } ?? 17
            guard cost < least else { continue }
            (best, least) = (path, cost)
        }
        return best
    }

    /// A class without lanes is forgotten.
    mutating func closeGroupIfEmpty(_ group: UInt32) {
        guard group & LaneClasses.mark != 0, classes.holder(group).pointee.count == 0 else { return }
        let number = group & ~LaneClasses.mark
        let record = classes.classes[number]
        if record.previous == none {
            topics.topic(record.topic).pointee.firstClass = record.next
        } else {
            classes.classes[record.previous].next = record.next
        }
        if record.next != none { classes.classes[record.next].previous = record.previous }
        classes.remove(number)
    }

    /// Counts a subscription that gets a lane, and sorts its topic's into classes once they are many.
    mutating func countIn(_ topic: UInt32) {
        let record = topics.topic(topic)
        record.pointee.placedSubscriptions += 1
        guard record.pointee.placedSubscriptions == Topics.gridFrom, !record.pointee.isClassified else { return }
        record.pointee.isClassified = true
        for owner in owners(of: topics.side(topic, .subscription)) where !programs.paths(subscriptions[owner].program).isEmpty {
            withdraw(.subscription, owner)
            admit(.subscription, owner)
        }
    }

    /// Counts a subscription that lost its lane, and puts its topic's together once they are few.
    mutating func countOut(_ topic: UInt32) {
        let record = topics.topic(topic)
        record.pointee.placedSubscriptions -= 1
        guard record.pointee.isClassified, record.pointee.placedSubscriptions < Topics.lineBelow else { return }
        record.pointee.isClassified = false
        while topics.topic(topic).pointee.firstClass != none {
            let group = topics.topic(topic).pointee.firstClass | LaneClasses.mark
            for owner in owners(of: classes.holder(group)) {
                withdraw(.subscription, owner)
                admit(.subscription, owner)
            }
        }
    }

    /// Fills `openClasses` with the classes of its topic that a publication's properties lead to.
    mutating func findClasses(_ publication: UInt32, _ topic: UInt32) {
        var keys = keys
        keys.truncate(to: 0)
        (properties.base + Int(publication)).pointee.forEachKey(programs.names) { keys.append($0) }
        self.keys = keys
        var found = openClasses
        found.truncate(to: 0)
        for place in 0..<keys.count {
            classes.forEach(topic, keys[place]) { number in
                // Two elements of an array may lead to one class, and so may two keys of a path.
                for known in 0..<found.count where found[known] == number { return }
                found.append(number)
            }
        }
        openClasses = found
    }
}

extension Side {
    @inline(__always)
    init(_ group: UInt32) { self = group & 1 == 0 ? .publication : .subscription }
}
