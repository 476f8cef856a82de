import GeomatchClient
import Wire

/// One thing that was looked at.
struct Finding: Equatable {
    var check: String
    var detail: String
    /// What to do; nil where all is well.
    var advice: String?

    init(_ check: String, _ detail: String, advice: String? = nil) {
        self.check = check
        self.detail = detail
        self.advice = advice
    }

    var isWell: Bool { advice == nil }

    var text: String {
        let line = "\(isWell ? "ok     " : "PROBLEM") \(check): \(PlainText.printable(detail))"
        return line + (advice.map { "\n        \($0)" } ?? "")
    }

    var json: JSONValue {
        var object: JSONObject = ["check": .string(check), "ok": .bool(isWell), "detail": .string(detail)]
        object["advice"] = advice.map { .string($0) }
        return .object(object)
    }
}

extension Finding {
    /// The broker could not be used.
    init(_ configuration: GeomatchConfiguration, _ error: GeomatchError) {
        let advice =
            switch error.kind {
            case .refused: "check the user and the password in --broker or the context"
            case .topicRefused:
                configuration.loginHint ?? "the access list forbids a topic: geomatchd --print-acl prints what it must allow"
            case .invalid: "write it as mqtt://user:password@host:port"
            case .connectionLost where error.connectionAdvice != nil: error.connectionAdvice ?? ""
            default: "start the broker (geomatchd runs one by itself), or name another with --broker or --context"
            }
        self.init("broker", error.message, advice: advice)
    }
}
