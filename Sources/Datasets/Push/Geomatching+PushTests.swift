import Records
import Wire

// push/test: which tokens a test is sent to.

extension Geomatching {
    /// Finds the tokens to test.
    ///
    /// - Throws: `invalid` where the device has none, `unsupported` where no service of theirs is set up.
    func testPush(_ call: Call) throws(WireError) -> Outcome {
        let device = try call.device(named: "id")
        let targets = pushTargets(of: device, call)
        guard !targets.isEmpty else {
            throw WireError(
                .invalid,
                "the device `\(device.record.id)` has no token: set its `deviceToken`, or name one in the `pushers` of its subscription",
                field: "id")
        }
        let reachable = targets.filter { shared.configuration.push.has($0.kind) }
        guard !reachable.isEmpty else {
            let keys = Set(targets.map { "`\($0.kind.key)`" }).sorted().joined(separator: " or ")
            throw WireError(
                .unsupported, "\(keys) is not set up here: the operator sets it in the daemon's configuration", field: "id")
        }
        guard !shared.pushTests.isFull else {
            throw WireError(.limit, "\(PendingPushTests.countMax) tests wait for push services, the maximum; repeat it later")
        }
        return .test(device, Array(reachable.prefix(PendingPushTests.targetsMax)))
    }

    /// The tokens that messages about a device go to, as far as the client may know them.
    private func pushTargets(of device: Device, _ call: Call) -> [PushTarget] {
        let pushers = subscriptions(of: device)
            .filter { call.client.reaches(owner: $0.record.owner) }.flatMap(\.pushers)
        var targets: [PushTarget] = []
        func add(_ target: PushTarget?) {
            if let target, !targets.contains(target) { targets.append(target) }
        }
        for pusher in pushers {
            if case .push(let target) = pusher.resolved(for: device.record) { add(target) }
        }
        guard targets.isEmpty else { return targets }
        for kind in tokenKinds(of: device.record) { add(PushTarget(kind, of: device.record)) }
        return targets
    }

    /// The services that a device's token may be for, where no pusher says so.
    private func tokenKinds(of device: DeviceRecord) -> [PushKind] {
        if let kind = PushKind(ofPlatform: device.platform) { return [kind] }
        let offered = [PushKind.apns, .fcm].filter(shared.configuration.push.has)
        return offered.isEmpty ? [.apns, .fcm] : offered
    }
}
