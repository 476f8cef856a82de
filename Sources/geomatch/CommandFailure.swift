/// Why a command ends without having done what it was asked.
struct CommandFailure: Error, Equatable {
    /// The exit code: 1 an error reply, 64 usage, 69 unavailable, 70 internal, 78 configuration.
    var code: Int32
    /// For standard error; never with a password.
    var message: String
    /// The message is the answer itself, which needs no name before it.
    var isReply = false

    static func errorReply(_ message: String) -> CommandFailure {
        CommandFailure(code: 1, message: message, isReply: true)
    }

    /// What was asked for was tried, and nothing of it worked.
    static func failed(_ message: String) -> CommandFailure { CommandFailure(code: 1, message: message) }
    static func usage(_ message: String) -> CommandFailure { CommandFailure(code: 64, message: message) }
    static func unavailable(_ message: String) -> CommandFailure { CommandFailure(code: 69, message: message) }
    static func `internal`(_ message: String) -> CommandFailure { CommandFailure(code: 70, message: message) }
    static func configuration(_ message: String) -> CommandFailure { CommandFailure(code: 78, message: message) }
}
