import Datasets
import DequeModule
import Synchronization

/// Lists of matches as they were answered, for clients that ask again before a list may show something else.
final class MatchPages: Sendable {
    /// Who asks, and about what.
    struct Key: Hashable, Sendable {
        var world: String
        var client: String
        var device: String
    }

    /// What a list that was answered rests on.
    struct Basis: Sendable {
        var validity: Validity
        /// Of who may name which dataset.
        var accessVersion: Int
    }

    private struct Page {
        var bytes: [UInt8]
        var basis: Basis
    }

    private struct State {
        var pages: [Key: Page] = [:]
        /// In the order they came.
        var order = Deque<Key>()
        var bytes = 0
    }

    private let state = Mutex(State())
    private let bytesMax: Int

    init(bytesMax: Int = 64 << 20) { self.bytesMax = bytesMax }

    /// - Parameter accessVersion: As of now.
    func page(_ key: Key, accessVersion: Int) -> [UInt8]? {
        state.withLock { state in
            guard let page = state.pages[key], page.basis.accessVersion == accessVersion, page.basis.validity.holds else {
                return nil
            }
            return page.bytes
        }
    }

    /// - Parameter basis: As of before the list was asked for.
    func keep(_ page: [UInt8], for key: Key, on basis: Basis) {
        guard page.count <= bytesMax / 16 else { return }
        state.withLock { state in
            if let former = state.pages.updateValue(Page(bytes: page, basis: basis), forKey: key) {
                state.bytes -= Self.cost(key, former.bytes)
            } else {
                state.order.append(key)
            }
            state.bytes += Self.cost(key, page)
            while state.bytes > bytesMax, let oldest = state.order.popFirst() {
                guard let former = state.pages.removeValue(forKey: oldest) else { continue }
                state.bytes -= Self.cost(oldest, former.bytes)
            }
        }
    }

    var bytes: Int { state.withLock { $0.bytes } }

    private static func cost(_ key: Key, _ page: [UInt8]) -> Int {
        page.count + 2 * (key.world.utf8.count + key.client.utf8.count + key.device.utf8.count) + 200
    }
}
