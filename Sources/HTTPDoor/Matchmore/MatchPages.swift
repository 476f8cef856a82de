import DequeModule
import Synchronization

/// Lists of matches as they were answered, for clients that ask again before there is another match.
final class MatchPages: Sendable {
    /// What a list shows follows from the newest match and how many there are.
    struct Key: Hashable, Sendable {
        var world: String
        var device: String
        var newest: Int64
        var count: Int
    }

    private struct Device: Hashable {
        var world: String
        var device: String

        init(_ key: Key) {
            world = key.world
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
        page.count + 2 * (key.world.utf8.count + key.device.utf8.count) + 200
    }
}
