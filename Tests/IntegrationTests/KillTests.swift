import Foundation
import SeededRandom
import Testing
import Wire

extension Integration {
    /// `GEOMATCH_KILLS` says how often, by default a few times.
    @Suite("kill -9 with webhooks under load")
    struct KillTests {
        private static let kills = ProcessInfo.processInfo.environment["GEOMATCH_KILLS"].flatMap { Int($0) } ?? 3

        @Test(
            "No acknowledged request is lost, no match is lost, and none is delivered under a second id"
        )
        func killed() throws {
            var random = SplitMix64.forTest("killed")
            try withDaemon { daemon in
                try withHook(failures: 30, random: random) { hook in
                    try withClient(daemon.endpoint, filters: ["geomatch/d/alice/match/#"], session: "reader") { client in
                        try CrashLoad.prepare(client, ["pushers": [.string(hook.url)]])
                        let load = CrashLoad(client)
                        load.start()
                        for _ in 0..<Self.kills {
                            #expect(load.advance(by: Int.random(in: 1...60, using: &random)))
                            usleep(UInt32.random(in: 0...20_000, using: &random))
                            daemon.program.end(SIGKILL)
                            try daemon.restart()
                        }
                        #expect(load.advance(by: 20))
                        let ids = try load.check(seconds: 120)
                        let matches = hook.matches
                        for (publication, id) in ids { #expect(matches[publication]?.ids == [id]) }
                        #expect(matches.count == ids.count)
                        print("killed \(Self.kills) times: \(ids.count) requests and matches, \(hook.posts) posts")
                    }
                }
            }
        }
    }
}
