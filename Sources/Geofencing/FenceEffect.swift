/// What the engine has to report, in order.
public enum FenceEffect: Equatable, Sendable {
    case entered(fence: Int32, device: UInt32, FenceFix, at: Int64)
    case dwelled(fence: Int32, device: UInt32, FenceFix, at: Int64)
    case exited(fence: Int32, device: UInt32, FenceFix?, at: Int64, since: Int64, FenceEnd)
}

/// Why a visit ended.
public enum FenceEnd: String, Sendable {
    case left, deleted, lost
}
