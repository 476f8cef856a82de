import DaemonCore
import ServiceLifecycle
import Testing

@testable import geomatchd
@testable import Records

@Suite("The daemon's start")
struct StartTests {
    @Test("Who waits is notified when the daemon is online, and who comes later at once")
    func online() async {
        let health = Health()
        async let waiting = health.firstOnline()
        health.becomeOnline()
        #expect(await waiting == nil)
        #expect(await health.firstOnline() == nil)
    }

    @Test("The first failure before it was online ends the waiting, whether somebody waited already or not")
    func failure() async {
        let early = Health()
        early.fail(.refused("no"))
        early.fail(.refused("later"))
        #expect(await early.firstOnline() == .refused("no"))
        let late = Health()
        async let waiting = late.firstOnline()
        late.fail(.refused("no"))
        #expect(await waiting == .refused("no"))
    }

    @Test("What fails after it was online is no failure of the start")
    func later() async {
        let health = Health()
        health.becomeOnline()
        health.fail(.refused("no"))
        #expect(await health.firstOnline() == nil)
    }

    @Test("A wait that is cancelled ends without a failure")
    func cancelled() async {
        for cancelsEarly in [true, false] {
            let health = Health()
            let task = Task { await health.firstOnline() }
            if !cancelsEarly { await Task.yield() }
            task.cancel()
            #expect(await task.value == nil)
        }
    }

    @Test("Once online a refusal ends nothing")
    func failsLater() async throws {
        let health = Health()
        health.becomeOnline()
        health.fail(.refused("a filter"))
        try await StartService(health: health, timeoutSeconds: 60).run()
    }

    @Test("A refusal ends it as unavailable, and says why")
    func refused() async throws {
        let health = Health()
        health.fail(.refused("no #"))
        let error = await #expect(throws: Daemon.Failure.self) {
            try await StartService(health: health, timeoutSeconds: 60).run()
        }
        guard case .unavailable(let why) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(why.contains("no #"))
    }

    @Test("Not online in time, it ends as unavailable with the time and the last reason there was no connection")
    func timeout() async throws {
        let health = Health()
        health.note("first reason")
        health.note("last reason")
        let error = await #expect(throws: Daemon.Failure.self) {
            try await StartService(health: health, timeoutSeconds: 0.02).run()
        }
        guard case .unavailable(let why) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(why.contains("not online after") && why.contains("last reason") && !why.contains("first reason"))
    }

    @Test("A broker that never answered is reported as that")
    func silence() async throws {
        let error = await #expect(throws: Daemon.Failure.self) {
            try await StartService(health: Health(), timeoutSeconds: 0.02).run()
        }
        guard case .unavailable(let why) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(why.contains("did not answer"))
    }

    @Test("A daemon that is stopped before it is online has not failed")
    func stopped() async throws {
        let group = ServiceGroup(
            configuration: .init(
                services: [
                    .init(service: StartService(health: Health(), timeoutSeconds: 60), successTerminationBehavior: .ignore)
                ],
                logger: .init(label: "test")))
        async let running: Void = group.run()
        await group.triggerGracefulShutdown()
        try await running
    }
}
