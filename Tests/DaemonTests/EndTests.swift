import DaemonCore
import Datasets
import Foundation
import Logging
import Loopback
import MQTTDoor
import MQTTLink
import ServiceLifecycle
import Store
import Testing

@testable import geomatchd

@Suite("The end of a daemon's parts", .timeLimit(.minutes(1)))
struct EndTests {
    @Test("Parts that were cancelled left the link running, and the journal unwritten")
    func cancelled() async throws {
        let folder = NSTemporaryDirectory() + "end-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let log = Logger(label: "end") { _ in SwiftLogNoOpLogHandler() }
        let store = try Store(path: folder + "/geomatch.sqlite", repliesMax: 100)
        let hub = Hub(HubConfiguration())
        hub.endRestoration(liveNumber: 0, matchNumber: 0)
        let core = Core(hub: hub, seed: (1, 2), logger: log, health: Health())
        let status = StatusMessage(version: "0", instance: "end", startedAt: 0)
        let door = MQTTDoor(
            MQTTDoor.Configuration(
                broker: "none", topics: Topics(prefix: ""), instance: status.instance, readsEveryDataset: true, inputQoS: 0,
                liveQoS: 0, status: status, adapters: [], yields: false),
            core: core, heldFilters: [])
        let daemon = RunningDaemon(core: core, door: door)
        let endpoint = MQTTEndpoint(host: "127.0.0.1", port: Loopback.freePort())
        let link = try MQTTLink(
            configuration: MQTTLinkConfiguration(endpoint: endpoint, clientID: "geomatchd-end", persistentSession: false),
            handler: door)
        let services: [any Service] = [
            JournalService(store: store, daemon: daemon, log: log),
            LinkService(daemon, link: link, handover: nil, behind: nil),
        ]
        let group = ServiceGroup(configuration: .init(services: services.map { .init(service: $0) }, logger: log))
        let running = Task { try await group.run() }
        running.cancel()
        try await running.value
        #expect(daemon.wroteEverything)
        try store.close()
    }
}
