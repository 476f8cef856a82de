/// The members of a JSON object in a stated order, each key once.
///
/// Keys are the same when their bytes are. Two objects are equal when they have the same members in the same order.
/// Looking up costs a comparison with each key: objects on the wire are small, and large ones are read by going through.
public struct JSONObject: Equatable, Sendable {
    /// One member.
    public struct Member: Equatable, Sendable {
        public var key: String
        public var value: JSONValue
    }

    public private(set) var members: [Member] = []

    public init() {}

    /// The last of several members with one key counts, at the place of the first.
    public init(_ members: some Sequence<(String, JSONValue)>) {
        var places: [[UInt8]: Int] = [:]
        for (key, value) in members {
            // Looking each key up would make a hostile payload of thousands of keys expensive.
            if self.members.count == Self.scannedMax, places.isEmpty {
                for (place, member) in self.members.enumerated() { places[Array(member.key.utf8)] = place }
            }
            let known = self.members.count < Self.scannedMax ? place(of: key) : places[Array(key.utf8)]
            if let known {
                self.members[known].value = value
            } else {
                if !places.isEmpty { places[Array(key.utf8)] = self.members.count }
                self.members.append(Member(key: key, value: value))
            }
        }
    }

    public var count: Int { members.count }
    public var isEmpty: Bool { members.isEmpty }
    public var keys: [String] { members.map(\.key) }

    /// The value of `key`. Assigning nil removes the member, a new key is added at the end.
    public subscript(key: String) -> JSONValue? {
        get { place(of: key).map { members[$0].value } }
        set {
            switch (place(of: key), newValue) {
            case (let place?, let value?): members[place].value = value
            case (let place?, nil): members.remove(at: place)
            case (nil, let value?): members.append(Member(key: key, value: value))
            case (nil, nil): break
            }
        }
    }

    private static let scannedMax = 16

    private func place(of key: String) -> Int? {
        members.firstIndex { $0.key.utf8.elementsEqual(key.utf8) }
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init(elements)
    }
}
