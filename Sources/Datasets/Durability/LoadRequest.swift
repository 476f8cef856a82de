import Records

/// What is to be read again after a refusal.
public struct LoadRequest: Sendable {
    /// Datasets of which all is read but places, categories and verifications.
    public let datasets: [String]
    /// Changes: what is durable of what they are about, one by one, is read.
    public let parts: [DurableChange]

    public init(datasets: [String], parts: [DurableChange]) {
        self.datasets = datasets
        self.parts = parts
    }
}

/// What was read, as changes that put it.
public struct LoadedState: Sendable {
    /// Of whole datasets, in the order of a restart.
    public var datasets: [DurableChange] = []
    /// One by one, where there is something.
    public var parts: [DurableChange] = []

    public init() {}
}
