/// Messages that doors keep to send them again, and are to keep no longer.
public struct Forgotten: Sendable {
    public let dataset: String
    /// The device that they are about; nil: all of the dataset.
    public let device: String?

    public init(dataset: String, device: String? = nil) {
        self.dataset = dataset
        self.device = device
    }
}
