/// By what geofences choose a device.
public struct FenceDevice: Equatable, Sendable {
    public var id: String
    public var owner: String?
    public var groups: [String]
    /// It stays where it is, so its silence says nothing.
    public var isFixed: Bool

    public init(id: String, owner: String? = nil, groups: [String] = [], isFixed: Bool = false) {
        self.id = id
        self.owner = owner
        self.groups = groups
        self.isFixed = isFixed
    }
}

/// One geofence as the engine knows it.
public struct Fence: Sendable {
    public var rule: FenceRule
    /// nil: there is none at present, and nobody is inside.
    public var area: FenceArea?
    /// 0: not known.
    public var floor: UInt32
    public var isEnabled: Bool
    public var owner: String
    /// Ids, ids with a `*` at their end, and groups; empty for its owner's devices and those without an owner.
    public var devices: [String]
    /// The device that it moves with.
    public var centre: UInt32?

    public init(
        rule: FenceRule, area: FenceArea?, floor: UInt32 = 0, isEnabled: Bool = true, owner: String, devices: [String] = []
    ) {
        self.rule = rule
        self.area = area
        self.floor = floor
        self.isEnabled = isEnabled
        self.owner = owner
        self.devices = devices
    }

    /// Whether it is about a device, wherever that is.
    public func concerns(_ device: FenceDevice) -> Bool { Self.concerns(device, owner: owner, devices: devices) }

    static func concerns(_ device: FenceDevice, owner: String, devices: [String]) -> Bool {
        if let its = device.owner, !isSame(its, owner) { return false }
        guard !devices.isEmpty else { return true }
        return devices.contains { name in
            if name.utf8.last == UInt8(ascii: "*") { return device.id.utf8.starts(with: name.utf8.dropLast()) }
            return isSame(name, device.id) || device.groups.contains { isSame(name, $0) }
        }
    }

    /// Texts are compared by their bytes.
    private static func isSame(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }
}
