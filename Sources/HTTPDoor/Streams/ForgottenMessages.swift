import Datasets
import Records
import Wire

/// Decides which messages are to be kept no longer.
struct ForgottenMessages: Sendable {
    let dataset: String
    private let device: String?
    /// How a payload names the device, wherever it does.
    private let name: [UInt8]

    init(_ forgotten: Forgotten) {
        dataset = forgotten.dataset
        device = forgotten.device
        name = Array(JSONWriter.object { $0.member("deviceId", optional: forgotten.device) }.dropFirst().dropLast())
    }

    /// Whether a message of the dataset is one of them: a match of the device's own subscriptions, or an event about it. Others'
    /// matches with it stay, as they do in `match/list`.
    func include(_ payload: [UInt8]) -> Bool {
        guard let device else { return true }
        // Few name it: the others are not parsed.
        let isNamed = payload.indices.contains { payload[$0] == name[0] && payload[$0...].starts(with: name) }
        guard isNamed, let message = (try? JSONValue.parse(payload))?.asObject else { return false }
        let about = message["subscription"]?.asObject ?? message
        return about["deviceId"]?.asString?.hasSameBytes(as: device) == true
    }
}
