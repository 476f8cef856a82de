import GeomatchClient
import MQTTLink
import Wire

/// Runs `body` with a client until it ends or Ctrl-C comes, and closes the client.
///
/// - Parameter drain: How long what was published may take to reach the broker at the end.
/// - Returns: nil where Ctrl-C came first.
/// - Throws: `CommandFailure`, whatever the client threw.
@discardableResult
func withClient<Value: Sendable>(
    _ configuration: GeomatchConfiguration, drain: Duration = .milliseconds(500),
    _ body: @escaping @Sendable (GeomatchClient) async throws -> Value
) async throws -> Value? {
    let client: GeomatchClient
    do throws(GeomatchError) {
        client = try GeomatchClient(configuration)
    } catch {
        throw CommandFailure(error)
    }
    // A free task: what ends the client below must not be cut off by Ctrl-C too.
    let task = Task { try await body(client) }
    let interrupt = Interrupt { task.cancel() }
    defer { withExtendedLifetime(interrupt) {} }
    let result = await task.result
    let isConnected = client.connectionState == .connected
    await client.close(drain: isConnected ? drain : .zero)
    do {
        return try result.get()
    } catch let error as GeomatchError {
        if error.kind == .cancelled { return nil }
        var failure = CommandFailure(error, isConnected: isConnected)
        if error.kind == .topicRefused, let hint = configuration.loginHint { failure.message += "\n\(hint)" }
        throw failure
    } catch is CancellationError {
        return nil
    }
}

extension GeomatchConfiguration {
    /// What is to be said where the broker refuses a topic and the client is not the login, whose own topics a broker lets it use.
    var loginHint: String? {
        guard let login = (try? Self.endpoint(of: broker))?.username, login != client else { return nil }
        let (user, name) = (PlainText.printable(login), PlainText.printable(client))
        return "The login is \(user) and the client \(name): a login may use the topics of its own name only. "
            + "Leave out --client and GEOMATCH_CLIENT, or log in as \(name)."
    }
}

/// The same for what must be answered: Ctrl-C is a failure.
func answer<Value: Sendable>(
    _ configuration: GeomatchConfiguration, _ body: @escaping @Sendable (GeomatchClient) async throws -> Value
) async throws -> Value {
    guard let value = try await withClient(configuration, drain: .zero, body) else {
        throw CommandFailure.unavailable("interrupted before the reply came")
    }
    return value
}

/// Does `work` to its end although the task was cancelled.
func shielded(_ work: @escaping @Sendable () async -> Void) async {
    // A free task does not know of the cancellation.
    await Task { await work() }.value
}

extension GeomatchClient {
    /// The result of a request.
    ///
    /// - Throws: `errorReply` where the reply is an error, as JSON or for people; `GeomatchError` where none came.
    func result(of name: String, _ parameters: JSONObject, asJSON: Bool) async throws -> JSONValue {
        try Self.result(in: try await reply(to: name, parameters), of: parameters, asJSON: asJSON)
    }

    /// - Parameter parameters: What was asked, to show where an expression in it is wrong.
    static func result(
        in reply: JSONObject, of parameters: JSONObject = [:], asJSON: Bool
    ) throws(CommandFailure) -> JSONValue {
        if let error = reply["error"] { throw .errorReply(ErrorText.of(error, in: parameters, asJSON: asJSON)) }
        guard let result = reply["result"] else { throw .internal("the reply holds neither a result nor an error") }
        return result
    }

    /// The pages of a list.
    ///
    /// - Parameter all: Not the first page alone.
    func pages(of name: String, _ parameters: JSONObject, all: Bool = true, asJSON: Bool) async throws -> ResultPages {
        var pages = ResultPages()
        var parameters = parameters
        repeat {
            try pages.add(try await result(of: name, parameters, asJSON: asJSON))
            parameters["after"] = pages.next
            // An id of the caller's own would bring the first page again.
            parameters["requestId"] = nil
        } while all && pages.next != nil
        return pages
    }
}

extension CommandFailure {
    /// - Parameter isConnected: The broker was there when it happened.
    init(_ error: GeomatchError, isConnected: Bool = false) {
        let status = "\nStart geomatchd, or check with `geomatch status`."
        switch error.kind {
        case .unread: self = .unavailable("\(error.message).\(status)")
        case .timeout: self = .unavailable(isConnected ? "\(error.message).\(status)" : error.message)
        case .connectionLost:
            let advice =
                error.connectionAdvice
                ?? "Is geomatchd, or your broker, running there? --broker, --http or --context names another one."
            self = .unavailable("\(error.message)\n\(advice)")
        case .refused: self = .unavailable("\(error.message)\n\(error.loginAdvice)")
        case .topicRefused, .closed: self = .unavailable(error.message)
        case .file: self = .failed(error.message)
        case .internal where error.code == 0: self = .internal(error.message)
        case .invalid where error.field == "tls" || error.field == "broker": self = .usage(error.message)
        case _ where error.code > 0: self = .errorReply(ErrorText.of(error))
        default: self = .errorReply(error.description)
        }
    }
}

extension GeomatchError {
    /// What to change where the other side speaks something else, by what was read of it; nil: nothing says so.
    var connectionAdvice: String? {
        let isHTTP = message.hasPrefix("http")
        let isEncrypted = message.hasPrefix("mqtts://") || message.hasPrefix("https://")
        func says(_ words: String...) -> Bool { words.contains { message.contains($0) } }
        if says("certificate verify failed") {
            return "The certificate must be for this name, and of an authority that is trusted here: --ca-file names your own."
        }
        if isEncrypted, says("unexpected eof", "wrong version number", "no TLS is spoken there") {
            return "This port does not speak TLS: write \(isHTTP ? "http" : "mqtt")://, or the port that does "
                + "(\(isHTTP ? "http.tls" : "listen-tls"))."
        }
        if says("protocol error") { return "This port does not speak MQTT: for geomatch's HTTP write --http http://…" }
        if !isEncrypted, says("reset by peer", "closed the connection", "the connection ended") {
            return "Is it a port with TLS? Then write \(isHTTP ? "https" : "mqtts")://. "
                + "Is it \(isHTTP ? "geomatchd's HTTP" : "geomatchd, or your broker,") that runs there?"
        }
        return nil
    }

    /// What to change where the login was refused.
    var loginAdvice: String {
        message.hasPrefix("http")
            ? "Check the key, which takes the password's place: --http http://CLIENT:KEY@HOST; `geomatch key create` makes one."
            : "The broker is there: check the user and the password in --broker or the context."
    }
}
