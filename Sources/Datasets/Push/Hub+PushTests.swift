import Records
import Wire

// push/test: sent beside the deliveries, and answered when the services have.

extension Hub {
    /// Sends a test; its reply follows when every service has answered.
    func test(_ targets: [PushTarget], of device: DeviceRecord, for context: ReplyContext, _ turn: inout Turn) {
        if let key = context.key { waitingForAnswer[key] = [] }
        let test = PendingPushTests.Test(
            context: context, deviceID: device.id, answers: targets.map { ($0, nil) },
            endsAt: turn.now + PendingPushTests.milliseconds)
        let message = PushMessage(
            [("deviceId", device.id), ("event", "test")], #"{"title":"geomatch","body":"A test for {device}"}"#, device: device)
        let bytes = Array(message.encoded().utf8)
        for (token, target) in zip(shared.pushTests.begin(test), targets) {
            turn.effects.pushes.append(
                PushPost(
                    token: token.raw, target: target, id: turn.newID(), message: bytes,
                    pair: "test \(device.id)", expiresAt: turn.now + 60_000))
        }
    }

    /// What became of one post of a test.
    func tested(_ token: DeliveryToken, _ outcome: PostOutcome, _ turn: inout Turn) {
        guard let (test, target, isComplete) = shared.pushTests.end(token, outcome) else { return }
        datasets[test.context.dataset]?.geomatching.noteTested(target, outcome, of: test.deviceID, &turn)
        if isComplete { finish(test, &turn) }
    }

    /// Answers the tests whose services take too long.
    func endOverdueTests(_ turn: inout Turn) {
        for test in shared.pushTests.takeOverdue(at: turn.now) { finish(test, &turn) }
    }

    private func finish(_ test: PendingPushTests.Test, _ turn: inout Turn) {
        let context = test.context
        finish(context, context.encode(result: test.encoded()), repeated: removeWaiting(for: context), &turn)
    }
}
