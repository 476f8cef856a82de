/// When a device must be evaluated again because of time.
struct DueDevice: Comparable {
    var due: Int64
    var device: UInt32

    static func < (a: DueDevice, b: DueDevice) -> Bool { (a.due, a.device) < (b.due, b.device) }
}
