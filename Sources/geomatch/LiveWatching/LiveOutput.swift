import Wire

/// Where the messages of a live subscription are shown.
protocol LiveOutput: AnyObject {
    /// One message, and what it did.
    func message(_ payload: UnsafeRawBufferPointer, _ change: LiveRows.Change)
    /// How it goes. What is not good lasts until something good follows.
    func note(_ text: String, isGood: Bool)
    /// After the last message of what came together.
    func flush(_ rows: LiveRows)
    /// - Returns: When it wants its next turn, milliseconds since 1970 UTC.
    func turn(_ rows: LiveRows, now: Int64) -> Int64
    /// Nobody looks any more.
    var isClosed: Bool { get }
}
