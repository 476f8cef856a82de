import LiveTopics

/// The known live topics of a dataset by dense numbers, with what criteria are compared with side by side in memory: going
/// through a hundred thousand topics for a snapshot takes a millisecond.
struct LiveTopicTable {
    private(set) var states: [LiveState?] = []
    private var keys: [LevelKeys] = []
    private var free: [UInt32] = []
    /// Beside its position, what an item sends: the numbers of the topics by the item's id. nil until somebody asks.
    private var companions: [String: [UInt32]]?

    /// One behind the highest number given.
    var end: UInt32 { UInt32(states.count) }

    subscript(number: UInt32) -> LiveState? { Int(number) < states.count ? states[Int(number)] : nil }

    func keys(of state: LiveState) -> LevelKeys { keys[Int(state.topicNumber)] }

    /// Gives a state its number.
    mutating func insert(_ state: LiveState, _ levels: LevelKeys) {
        if let number = free.popLast() {
            state.topicNumber = number
            states[Int(number)] = state
            keys[Int(number)] = levels
        } else {
            state.topicNumber = UInt32(states.count)
            states.append(state)
            keys.append(levels)
        }
        if companions != nil { noteCompanion(state) }
    }

    mutating func remove(_ state: LiveState) {
        let number = Int(state.topicNumber)
        guard number < states.count, states[number] === state else { return }
        states[number] = nil
        free.append(state.topicNumber)
        guard companions != nil, state.isCompanion else { return }
        companions?[state.itemID]?.removeAll { $0 == state.topicNumber }
        if companions?[state.itemID]?.isEmpty == true { companions?[state.itemID] = nil }
    }

    /// The numbers of the topics, other than positions, whose `location` level is an item.
    mutating func companions(of item: String) -> [UInt32] {
        if companions == nil {
            companions = [:]
            for case let state? in states { noteCompanion(state) }
        }
        return companions?[item] ?? []
    }

    /// Nobody asks for companions any more.
    mutating func forgetCompanions() { companions = nil }

    private mutating func noteCompanion(_ state: LiveState) {
        if state.isCompanion { companions?[state.itemID, default: []].append(state.topicNumber) }
    }

    /// All states that criteria want.
    func all(_ pattern: CriteriaPattern) -> [LiveState] {
        var states: [LiveState] = []
        var cursor: UInt32 = 0
        while cursor < end {
            let found = next(pattern, from: cursor, steps: Int(end))
            cursor = found.number
            if let state = found.state { states.append(state) }
        }
        return states
    }

    /// The first state from a number on that criteria want, within so many steps.
    ///
    /// - Returns: The state, nil where there is none within those steps, and the number to go on from.
    func next(_ pattern: CriteriaPattern, from number: UInt32, steps: Int) -> (state: LiveState?, number: UInt32) {
        var place = Int(number)
        let last = min(states.count, place + steps)
        while place < last {
            if pattern.mayMatch(keys[place]), let state = states[place], pattern.matches(keys[place], topic: state.topic) {
                return (state, UInt32(place + 1))
            }
            place += 1
        }
        return (nil, UInt32(place))
    }
}

extension LiveState {
    /// It is where its item's position is.
    fileprivate var isCompanion: Bool { hasLocation && !namesDevice }
}
