import Records
import Wire

/// A read that goes through very many objects for a page of few: a portion in each turn, beside everything else.
///
/// What it has looked at may change until it ends. It begins again where its dataset was read again, or hides other positions.
protocol Search: AnyObject {
    /// Looks at more objects, until the effort is used up: one for each, and more for large ones.
    ///
    /// - Returns: The `result` as JSON; nil: it goes on.
    func goOn(_ effort: inout Int) -> [UInt8]?
    /// The reply follows: what is to change with it is changed.
    func end(_ turn: inout Turn)
}

extension Search {
    func end(_ turn: inout Turn) {}
}

/// A search whose reply is still to come.
struct PendingSearch {
    let context: ReplyContext
    var call: Call
    let begin: (Call) throws(WireError) -> any Search
    /// nil: it has not begun.
    var search: (any Search)?
    /// Of ``Dataset/viewVersion`` and ``HubConfiguration/accessVersion``, as it began.
    var viewVersion: Int
    var accessVersion: Int
}

extension Hub {
    /// About a millisecond of one core.
    static let searchEffort = 1000

    /// So many are under way: each may have a list of all there is.
    static let searchesUnderWay = 16

    /// The first portion, which is all of it but where there are very many.
    ///
    /// - Parameter mayWait: It begins later where many are under way.
    func begin(
        _ begin: @escaping (Call) throws(WireError) -> any Search, _ call: Call, mayWait: Bool, _ turn: inout Turn
    ) throws(WireError) -> Outcome {
        guard !mayWait || searches.count < Self.searchesUnderWay else { return .search(call, begin, nil) }
        let search = try begin(call)
        var effort = Self.searchEffort
        guard let result = search.goOn(&effort) else { return .search(call, begin, search) }
        search.end(&turn)
        return .result(result)
    }

    /// Whether a reply is still searched for, and not in a dataset that is read again.
    public var isSearching: Bool { searches.contains { !waitsForStore($0) } }

    /// Its dataset is read again, or is being deleted: nothing is made durable in it.
    private func waitsForStore(_ search: PendingSearch) -> Bool {
        guard let dataset = datasets[search.context.dataset] else { return false }
        return dataset.isLoading || dataset.isBeingDeleted
    }

    /// Goes on with the search, or the work for nobody's reply, whose turn it is.
    ///
    /// - Parameter mayChange: The disk keeps up with what is made durable: work that changes something goes on, too.
    /// - Returns: The queue of who asked, 0 for nobody; nil where none can go on.
    public func continueSearching(_ turn: inout Turn, mayChange: Bool = true) -> UInt32? {
        isWorkNext.toggle()
        if mayChange, isWorkNext || searches.isEmpty, continueWork(&turn) { return 0 }
        for _ in 0..<searches.count {
            let pending = searches.removeFirst()
            if waitsForStore(pending) {
                searches.append(pending)
                continue
            }
            goOn(pending, &turn)
            return pending.context.address.queue
        }
        return nil
    }

    private func goOn(_ pending: PendingSearch, _ turn: inout Turn) {
        var pending = pending
        let context = pending.context
        do throws(WireError) {
            guard let dataset = datasets[context.dataset], dataset === pending.call.dataset else {
                throw .unknownDataset(context.dataset)
            }
            let accessVersion = configuration.accessVersion()
            var search = pending.search
            if pending.viewVersion != dataset.viewVersion || pending.accessVersion != accessVersion { search = nil }
            (pending.viewVersion, pending.accessVersion) = (dataset.viewVersion, accessVersion)
            pending.call.client = client(of: context)
            let begun: any Search
            if let search { begun = search } else { begun = try pending.begin(pending.call) }
            pending.search = begun
            var effort = Self.searchEffort
            guard let result = begun.goOn(&effort) else {
                // Before those that have not begun.
                return searches.insert(pending, at: min(searches.count, Self.searchesUnderWay - 1))
            }
            let changes = RequestTable.byName[context.request]?.changes == true
            noteRequest(context, changes: changes, at: turn.now)
            try turn.asking(changes) { turn in begun.end(&turn) }
            finish(context, context.encode(result: result), repeated: removeWaiting(for: context), &turn)
        } catch {
            finish(context, error, repeated: removeWaiting(for: context), &turn)
        }
    }
}

/// The first page of what is in no order: all is looked at, and the smallest keys are kept.
final class PageSearch<Element>: Search {
    private let elements: [Element]
    private let key: (Element) -> String?
    private let encode: (_ found: [Smallest<Element>.Entry], _ isCut: Bool) -> [UInt8]
    private var next = 0
    private var smallest: Smallest<Element>

    /// - Parameters:
    ///   - key: Where an element is in the order; nil: it is not asked for.
    ///   - encode: Makes the result of the page's elements, and of whether there are more.
    init(
        _ page: Page, of elements: [Element], key: @escaping (Element) -> String?,
        encode: @escaping (_ found: [Smallest<Element>.Entry], _ isCut: Bool) -> [UInt8]
    ) {
        self.elements = elements
        self.key = key
        self.encode = encode
        smallest = Smallest(page)
    }

    func goOn(_ effort: inout Int) -> [UInt8]? {
        while next < elements.count {
            guard effort > 0 else { return nil }
            effort -= 1
            let element = elements[next]
            next += 1
            if let key = key(element) { smallest.insert(element, ByteKey(key)) }
        }
        return encode(smallest.sorted, smallest.isCut)
    }
}

/// A page of the devices, which are looked at in the order of their ids until it is full.
final class DeviceSearch: Search {
    private let devices: Devices
    private let isWanted: (Device) -> Bool
    private let encode: (_ found: [Device], _ isCut: Bool) -> [UInt8]
    private let limit: Int
    private var after: String?
    private var found: [String] = []

    /// - Parameter encode: Makes the result of the page's devices, and of whether there are more.
    init(
        _ page: Page, of devices: Devices, isWanted: @escaping (Device) -> Bool,
        encode: @escaping (_ found: [Device], _ isCut: Bool) -> [UInt8]
    ) {
        self.devices = devices
        self.isWanted = isWanted
        self.encode = encode
        limit = page.limit
        after = page.after
    }

    func goOn(_ effort: inout Int) -> [UInt8]? {
        while true {
            guard effort > 0 else { return nil }
            let ids = devices.ids(after: after, count: min(effort, 256))
            effort -= ids.count
            after = ids.last
            for id in ids { if let device = devices[id], isWanted(device) { found.append(id) } }
            guard ids.isEmpty || found.count > limit else { continue }
            let isCut = found.count > limit
            // Another may have its id by now.
            let left = found.prefix(limit + 1).compactMap { devices[$0] }.filter(isWanted)
            // All may be gone by now, with more behind them.
            if !left.isEmpty || !isCut { return encode(left, isCut) }
            found = []
        }
    }
}

/// The elements with the smallest keys of many, as many as a page may have and one more: a heap, the largest on top.
struct Smallest<Element> {
    typealias Entry = (key: ByteKey, element: Element)

    private var entries: [Entry] = []
    private let capacity: Int
    private let after: ByteKey?
    /// Others were left out for want of room.
    private(set) var isCut = false

    init(_ page: Page) {
        capacity = page.limit + 1
        after = page.after.map(ByteKey.init)
    }

    func wants(_ key: ByteKey) -> Bool {
        if let after, !(after < key) { return false }
        return entries.count < capacity || key < entries[0].key
    }

    mutating func insert(_ element: Element, _ key: ByteKey) {
        if let after, !(after < key) { return }
        guard entries.count == capacity else {
            entries.append((key, element))
            return rise(entries.count - 1)
        }
        isCut = true
        guard key < entries[0].key else { return }
        entries[0] = (key, element)
        sink()
    }

    /// Something that was not inserted as it is not wanted would have been there.
    mutating func noteCut() { if entries.count == capacity { isCut = true } }

    var sorted: [Entry] { entries.sorted { $0.key < $1.key } }

    private mutating func rise(_ start: Int) {
        var place = start
        while place > 0, entries[(place - 1) / 2].key < entries[place].key {
            entries.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    private mutating func sink() {
        var place = 0
        while true {
            var child = 2 * place + 1
            guard child < entries.count else { return }
            if child + 1 < entries.count, entries[child].key < entries[child + 1].key { child += 1 }
            guard entries[place].key < entries[child].key else { return }
            entries.swapAt(place, child)
            place = child
        }
    }
}
