/// The three kinds of device; the raw value is the `deviceType` on the wire.
public enum DeviceType: String, Sendable, CaseIterable {
    case mobile = "MobileDevice"
    case pin = "PinDevice"
    case beacon = "IBeaconDevice"
}
