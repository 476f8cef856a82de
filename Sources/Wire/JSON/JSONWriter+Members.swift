extension JSONWriter {
    package mutating func member(_ key: String, _ value: Int) {
        self.key(key)
        integer(Int64(value))
    }

    package mutating func member(_ key: String, _ value: Int64) {
        self.key(key)
        integer(value)
    }

    package mutating func member(_ key: String, _ value: Double) {
        self.key(key)
        double(value)
    }

    package mutating func member(_ key: String, _ value: String) {
        self.key(key)
        string(value)
    }

    package mutating func member(_ key: String, _ value: Bool) {
        self.key(key)
        bool(value)
    }

    /// Writes nothing where there is no value.
    package mutating func member(_ key: String, optional value: String?) {
        if let value { member(key, value) }
    }

    package mutating func member(_ key: String, optional value: Double?) {
        if let value { member(key, value) }
    }

    package mutating func member(_ key: String, optional value: Int64?) {
        if let value { member(key, value) }
    }

    package mutating func member(_ key: String, _ values: [String]) {
        self.key(key)
        beginArray()
        for value in values { string(value) }
        endArray()
    }

    /// A member that is always there.
    package mutating func member(_ key: String, orNull text: String?) {
        self.key(key)
        if let text { string(text) } else { null() }
    }

    /// A member that is always there.
    package mutating func member(_ key: String, orNull value: Double?) {
        self.key(key)
        if let value { double(value) } else { null() }
    }

    /// Unknown is `null`.
    package mutating func truth(_ value: Bool?) {
        if let value { bool(value) } else { null() }
    }
}
