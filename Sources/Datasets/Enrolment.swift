/// Which devices an engine is still to be shown, or some of what concerns them: portions of them one after the other, and earlier those that
/// change.
struct Enrolment {
    /// Since when: what devices do later they are shown as it happens.
    let startedAt: Int64
    private let end: UInt32
    private var next: UInt32
    /// How many are left, round the end.
    private var left: UInt32
    /// Those among them that were shown already.
    private var shown: Set<UInt32> = []

    /// All devices that there are.
    ///
    /// - Parameter former: It goes on behind that, so that none waits longer and longer where one follows the other.
    init(of devices: Devices, at now: Int64, behind former: Enrolment? = nil) {
        startedAt = now
        end = devices.referenceEnd
        left = end
        let first = former?.next ?? 0
        next = first < end ? first : 0
    }

    /// - Returns: Whether the engine is to be shown the device now.
    mutating func enrol(_ device: UInt32) -> Bool {
        guard device < end, (device >= next ? device - next : device + (end - next)) < left else { return false }
        return shown.insert(device).inserted
    }

    /// The next device that the engine is to be shown; nil: it was shown all.
    mutating func popNext() -> UInt32? {
        while left > 0 {
            let device = next
            next = device + 1 == end ? 0 : device + 1
            left -= 1
            if shown.remove(device) == nil { return device }
        }
        return nil
    }
}
