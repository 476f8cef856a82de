/// Who asks.
struct RequestingClient {
    var name: String
    var isAdministrator: Bool
    /// The only dataset that it may name here, whatever its name may elsewhere; nil: any.
    var onlyDataset: String?

    /// Whether it may read, change or attach to an object: its owner may, anybody where it has none, administrators always.
    func reaches(owner: String?) -> Bool { owner == nil || owner == name || isAdministrator }
}
