import HTTPTypes
import Wire

extension HTTPRefusal {
    /// `{"code","message"}`, as the old clients read it.
    var matchmoreAnswer: HTTPAnswer {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("code")
        writer.integer(status.code)
        writer.key("message")
        writer.string(error.message)
        writer.endObject()
        var answer = HTTPAnswer(status, json: writer.bytes)
        for field in fields { answer.fields[field.name] = field.value }
        return answer
    }
}

extension WireError {
    /// The same where a well-formed body breaks a rule: the old cloud forbade that.
    var refusingContent: WireError {
        switch code {
        case .invalid, .unsupported, .conflict: WireError(.forbidden, message, field: field)
        default: self
        }
    }
}
