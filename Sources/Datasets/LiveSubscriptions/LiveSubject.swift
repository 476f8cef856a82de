import Geodesy
import Wire

/// A live state that changed, with what conditions look at, read when first needed.
struct LiveSubject {
    let state: LiveState
    /// The message of a cleared state before it was.
    let former: [UInt8]?
    let formerNumber: Int64
    var isRead = false
    var facts: LiveMessage.Facts?
    /// Its place is the one of its device, not its own word.
    var isWhereItsDeviceIs = false
    /// Where its item is, if that was read already: the item may be nowhere.
    let itemPosition: Position??

    init(_ state: LiveState, former: [UInt8]? = nil, formerNumber: Int64 = 0, itemPosition: Position?? = nil) {
        self.itemPosition = itemPosition
        self.state = state
        self.former = former
        self.formerNumber = formerNumber
    }
}

/// What a message for a live subscriber is known by at a door: never the token of a match, which is a positive number.
struct LiveToken {
    var subscription: UInt32
    var topicNumber: UInt32

    init(subscription: UInt32, topicNumber: UInt32) {
        self.subscription = subscription
        self.topicNumber = topicNumber
    }

    init?(_ token: UInt64) {
        guard token >> 63 == 1 else { return nil }
        subscription = UInt32(token >> 32 & 0x7FFF_FFFF)
        topicNumber = UInt32(token & 0xFFFF_FFFF)
    }

    var token: UInt64 { 1 << 63 | UInt64(subscription) << 32 | UInt64(topicNumber) }
}
