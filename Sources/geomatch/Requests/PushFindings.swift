import Wire

/// What push services said of a test, a line for each.
struct PushFindings {
    let text: String
    /// One of them took it.
    let isAccepted: Bool

    /// - Returns: nil where it is the result of another request.
    init?(_ result: JSONValue, of request: String) {
        guard request == "push/test", let tests = result.member("tests")?.asArray else { return nil }
        text = tests.map { $0.member("message").map(PlainText.of) ?? "" }.joined(separator: "\n")
        isAccepted = tests.contains { $0.member("outcome") == "accepted" }
    }
}
