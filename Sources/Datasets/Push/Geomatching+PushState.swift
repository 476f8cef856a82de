import Records

// Which tokens of a device are not valid any more.

extension Geomatching {
    /// A push service calls a target of a delivery gone: nothing is handed to it until the device or its subscriptions name another.
    func noteGone(_ target: PushTarget, _ delivery: PendingDelivery, _ turn: inout Turn) {
        guard let id = delivery.push.flatMap(PushMessage.device), let device = devices[id], names(target, delivery, device),
            !device.record.goneTargets.contains(target.text)
        else { return }
        setGone(Array((device.record.goneTargets + [target.text]).suffix(Self.goneTargetsMax)), of: device, &turn)
    }

    private static let goneTargetsMax = 16

    /// Whether a target is still one of those that a delivery was made for.
    private func names(_ target: PushTarget, _ delivery: PendingDelivery, _ device: Device) -> Bool {
        guard let source = delivery.source else { return true }
        return source.pushers.contains { $0.resolved(for: device.record).isSame(as: .push(target)) }
    }

    /// A test says of a target whether it is gone.
    func noteTested(_ target: PushTarget, _ outcome: PostOutcome, of id: String, _ turn: inout Turn) {
        guard let device = devices[id] else { return }
        let gone = device.record.goneTargets
        switch outcome {
        case .gone where !gone.contains(target.text):
            setGone(Array((gone + [target.text]).suffix(Self.goneTargetsMax)), of: device, &turn)
        case .taken where gone.contains(target.text): setGone(gone.filter { $0 != target.text }, of: device, &turn)
        default: break
        }
    }

    /// A device has another token, or its subscriptions other pushers: what none of them names is forgotten.
    func forgetGone(of device: Device, _ turn: inout Turn) {
        let gone = device.record.goneTargets
        guard !gone.isEmpty else { return }
        var named = [PushKind.apns, .fcm].compactMap { PushTarget($0, of: device.record)?.text }
        for subscription in subscriptions(of: device) {
            for case .push(let target) in subscription.pushers { named.append(target.text) }
        }
        let left = gone.filter(named.contains)
        if left != gone { setGone(left, of: device, &turn) }
    }

    private func setGone(_ targets: [String], of device: Device, _ turn: inout Turn) {
        device.record.goneTargets = targets
        turn.keep(.putGoneTargets(dataset: device.record.dataset, deviceId: device.record.id, targets))
    }
}
