import DaemonCore
import ServiceLifecycle
import Testing

@testable import geomatchd
@testable import Records

@Suite("The daemon's start")
struct StartTests {
    @Test("Who waits is told when the daemon is online, and who comes later at once")
    func online() async {
        let health = Health()
        async let waiting = health.firstOnline()
        health.becomeOnline()
        #expect(await waiting == nil)
        #expect(await health.firstOnline() == nil)
    }

    @Test("The first failure before it was online ends the waiting, whether somebody waited already or not")
    func failure() async {
        let failures: [Health.Failure] = [.refused("no"), .storeUnreadable("no")]
        for failure in failures {
            let early = Health()
            early.fail(failure)
            early.fail(.refused("later"))
            #expect(await early.firstOnline() == failure)
            let late = Health()
            async let waiting = late.firstOnline()
            late.fail(failure)
            #expect(await waiting == failure)
        }
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

    @Test("Once online a refusal is only told, but a store that can no longer be read ends the daemon")
    func failsLater() async throws {
        let health = Health()
        health.becomeOnline()
        async let ended = #expect(throws: Daemon.Failure.self) {
            try await StartService(health: health, timeoutSeconds: 60).run()
        }
        health.fail(.refused("a filter"))
        health.fail(.storeUnreadable("page 7"))
        guard case .internal(let why) = await ended else {
            Issue.record("not ended as internal")
            return
        }
        #expect(why.contains("page 7"))
    }

    @Test("A refusal ends it as unavailable, a store that cannot be read as internal; both say why")
    func refused() async throws {
        for (failure, isInternal) in [(Health.Failure.refused("no #"), false), (.storeUnreadable("no #"), true)] {
            let health = Health()
            health.fail(failure)
            let error = await #expect(throws: Daemon.Failure.self) {
                try await StartService(health: health, timeoutSeconds: 60).run()
            }
            switch error {
            case .internal(let why): #expect(isInternal && why.contains("no #"))
            case .unavailable(let why): #expect(!isInternal && why.contains("no #"))
            default: Issue.record("\(String(describing: error))")
            }
        }
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

    @Test("A broker that never answered is told as that")
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

    @Test("Whoever is stopped before it is online has not failed")
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
