import DequeModule
import Synchronization

/// Lists of matches as they were answered, for clients that ask again before there is another match.
final class MatchPages: Sendable {
    /// What a list shows follows from who asks, the newest match, how many there are, and whether positions are private.
    struct Key: Hashable, Sendable {
        var world: String
        var client: String
        var device: String
        var isPrivate: Bool
        var newest: Int64
        var count: Int
    }

    private struct Device: Hashable {
        var world: String
        var client: String
        var device: String

        init(_ key: Key) {
            world = key.world
            client = key.client
            device = key.device
        }
    }

    private struct State {
        var pages: [Device: (key: Key, page: [UInt8])] = [:]
        /// In the order they came.
        var order = Deque<Device>()
        var bytes = 0
    }

    private let state = Mutex(State())
    private let bytesMax: Int

    init(bytesMax: Int = 64 << 20) { self.bytesMax = bytesMax }

    func page(_ key: Key) -> [UInt8]? {
        state.withLock { state in
            guard let known = state.pages[Device(key)], known.key == key else { return nil }
            return known.page
        }
    }

    func keep(_ page: [UInt8], for key: Key) {
        guard page.count <= bytesMax / 16 else { return }
        state.withLock { state in
            let device = Device(key)
            if let former = state.pages.updateValue((key, page), forKey: device) {
                state.bytes -= Self.cost(former.key, former.page)
            } else {
                state.order.append(device)
            }
            state.bytes += Self.cost(key, page)
            while state.bytes > bytesMax, let oldest = state.order.popFirst() {
                guard let former = state.pages.removeValue(forKey: oldest) else { continue }
                state.bytes -= Self.cost(former.key, former.page)
            }
        }
    }

    var bytes: Int { state.withLock { $0.bytes } }

    private static func cost(_ key: Key, _ page: [UInt8]) -> Int {
        page.count + 2 * (key.world.utf8.count + key.client.utf8.count + key.device.utf8.count) + 200
    }
}
