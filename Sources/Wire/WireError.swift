/// The names of errors on the wire.
public enum ErrorCode: String, Sendable, CaseIterable {
    case invalid
    case unauthorized
    case forbidden
    case limit
    case notFound
    case unknownDataset
    case conflict
    case tooLarge
    case unsupported
    case `internal`

    /// The number that goes with the name, as in HTTP.
    public var code: Int {
        switch self {
        case .invalid: 400
        case .unauthorized: 401
        case .forbidden, .limit: 403
        case .notFound, .unknownDataset: 404
        case .conflict: 409
        case .tooLarge: 413
        case .unsupported: 501
        case .internal: 500
        }
    }
}

/// Why something that was sent has no effect, as reported to its sender.
public struct WireError: Error, Equatable, Sendable {
    public var code: ErrorCode
    /// The rule and the value that broke it.
    public var message: String
    /// The parameter, property or topic level it is about; a dot or an index leads into a value.
    public var field: String?
    /// Characters from 0 in the expression that `field` holds.
    public var position: Int?

    public init(_ code: ErrorCode, _ message: String, field: String? = nil, position: Int? = nil) {
        self.code = code
        self.message = message
        self.field = field
        self.position = position
    }

    public init(_ error: JSONError) {
        switch error {
        case .tooLarge: self.init(.tooLarge, error.message)
        case .outOfMemory: self.init(.internal, error.message)
        default: self.init(.invalid, error.message)
        }
    }

    /// The same with the line and the column.
    init(_ error: JSONError, about bytes: UnsafeRawBufferPointer) {
        self.init(error)
        message = error.message(about: bytes)
    }

    /// Writes `{"code","error","message","field"?,"position"?}`.
    ///
    /// - Parameter status: The number where it is not the one that goes with the name.
    public func encode(into writer: inout JSONWriter, status: Int? = nil) {
        writer.beginObject()
        writer.key("code")
        writer.integer(status ?? code.code)
        writer.key("error")
        writer.string(code.rawValue)
        writer.key("message")
        writer.string(message)
        if let field {
            writer.key("field")
            writer.string(field)
        }
        if let position {
            writer.key("position")
            writer.integer(position)
        }
        writer.endObject()
    }
}
