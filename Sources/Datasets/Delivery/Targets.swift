import Records

/// Where a message goes beside its recipient, as that is when it is made.
struct Targets {
    private(set) var pushers: [Pusher] = []
    /// Those that never have it, with the reason; slots as of ``DeliveryToken``.
    private(set) var lost: [(slot: Int, reason: String)] = []

    init() {}

    /// - Parameter device: Which the message is about, with its token and what is known of it; nil where there is none.
    init(_ pushers: [Pusher], about device: DeviceRecord?) {
        for pusher in pushers {
            let pusher = pusher.resolved(for: device)
            // Only a device's token can turn out to be named twice.
            guard !self.pushers.contains(where: { $0.isSame(as: pusher) }) else { continue }
            self.pushers.append(pusher)
            switch pusher {
            case .device: lost.append((self.pushers.count, "the device has no token for it"))
            case .push(let target):
                if device?.goneTargets.contains(target.text) == true {
                    lost.append((self.pushers.count, "the token is not valid any more"))
                }
            case .match, .path, .webhook: break
            }
        }
    }

    /// A bit for each that is lost.
    var completed: UInt32 { lost.reduce(0) { $0 | 1 << UInt32($1.slot) } }

    /// Some push service gets it.
    var isPushed: Bool {
        pushers.enumerated().contains { index, pusher in
            if case .push = pusher { completed & 1 << UInt32(index + 1) == 0 } else { false }
        }
    }
}

extension Pusher {
    /// A device's token is what it is now.
    func resolved(for device: DeviceRecord?) -> Pusher {
        guard case .device(let kind) = self, let target = PushTarget(kind, of: device) else { return self }
        return .push(target)
    }
}
