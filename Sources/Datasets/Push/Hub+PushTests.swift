import Records
import Wire

// push/test

extension Hub {
    /// Finds the tokens to test.
    ///
    /// - Throws: `invalid` where the device has none, `unsupported` where no service of theirs is set up.
    func testPush(_ call: Call) throws(WireError) -> Outcome {
        let device = try device(named: "id", call)
        let targets = pushTargets(of: device, call)
        guard !targets.isEmpty else {
            throw WireError(
                .invalid,
                "the device `\(device.record.id)` has no token: set its `deviceToken`, or name one in the `pushers` of its subscription",
                field: "id")
        }
        let reachable = targets.filter { configuration.push.has($0.kind) }
        guard !reachable.isEmpty else {
            let keys = Set(targets.map { "`\($0.kind.key)`" }).sorted().joined(separator: " or ")
            throw WireError(
                .unsupported, "\(keys) is not set up here: the operator sets it in the daemon's configuration", field: "id")
        }
        guard !pushTests.isFull else {
            throw WireError(.limit, "\(PendingPushTests.countMax) tests wait for push services, the maximum; repeat it later")
        }
        return .test(device, Array(reachable.prefix(PendingPushTests.targetsMax)))
    }

    /// The tokens that messages about a device go to, as far as the client may know them.
    private func pushTargets(of device: Device, _ call: Call) -> [PushTarget] {
        let pushers = call.dataset.geomatching.subscriptions(of: device)
            .filter { call.client.reaches(owner: $0.record.owner) }.flatMap(\.pushers)
        var targets: [PushTarget] = []
        func add(_ target: PushTarget?) {
            if let target, !targets.contains(target) { targets.append(target) }
        }
        for pusher in pushers {
            if case .push(let target) = pusher.resolved(for: device.record) { add(target) }
        }
        guard targets.isEmpty else { return targets }
        for kind in tokenKinds(of: device.record) { add(PushTarget(kind, deviceToken: device.record.deviceToken)) }
        return targets
    }

    /// The services that a device's token may be for, where no pusher says so.
    private func tokenKinds(of device: DeviceRecord) -> [PushKind] {
        let platform = device.platform?.lowercased() ?? ""
        if platform.contains("ios") { return [.apns] }
        if platform.contains("android") { return [.fcm] }
        let offered = [PushKind.apns, .fcm].filter(configuration.push.has)
        return offered.isEmpty ? [.apns, .fcm] : offered
    }

    /// Sends a test; its reply follows when every service has answered.
    func test(_ targets: [PushTarget], of device: DeviceRecord, for context: ReplyContext, _ turn: inout Turn) {
        if let key = context.key { waitingForAnswer[key] = [] }
        let test = PendingPushTests.Test(
            context: context, deviceID: device.id, answers: targets.map { ($0, nil) },
            endsAt: turn.now + PendingPushTests.milliseconds)
        let message = PushMessage(
            [("deviceId", device.id), ("event", "test")], #"{"title":"geomatch","body":"A test for {device}"}"#, device: device)
        let bytes = Array(message.encoded().utf8)
        for (token, target) in zip(pushTests.begin(test), targets) {
            turn.effects.pushes.append(
                PushPost(
                    token: token.raw, target: target, id: turn.identifiers.uuid(), message: bytes,
                    pair: "test \(device.id)", expiresAt: turn.now + 60_000))
        }
    }

    /// What became of one post of a test.
    func tested(_ token: DeliveryToken, _ outcome: PostOutcome, _ turn: inout Turn) {
        guard let (test, target, isComplete) = pushTests.end(token, outcome) else { return }
        noteTested(target, outcome, of: test.deviceID, in: test.context.dataset, &turn)
        if isComplete { finish(test, &turn) }
    }

    /// Answers the tests whose services take too long.
    func endOverdueTests(_ turn: inout Turn) {
        for test in pushTests.takeOverdue(at: turn.now) { finish(test, &turn) }
    }

    private func finish(_ test: PendingPushTests.Test, _ turn: inout Turn) {
        let context = test.context
        finish(context, context.encode(result: test.encoded()), nil, repeated: takeWaiting(for: context), &turn)
    }
}
