import Foundation
import GeomatchClient

/// Follows a floor: prints each live update and each match, one line for each, until it is interrupted.
@main
struct FloorFollower {
    static func main() async {
        let options: Options
        do {
            options = try Options(CommandLine.arguments.dropFirst())
        } catch {
            print("\(error)\n\n\(Options.usage)")
            exit(64)
        }
        do {
            try await follow(options)
        } catch let error as GeomatchError {
            print(error)
            exit(error.kind == .invalid ? 64 : 69)
        } catch {
            print(error)
            exit(70)
        }
    }

    static func follow(_ options: Options) async throws {
        let client = try GeomatchClient(broker: options.broker, dataset: options.dataset, client: options.client)
        let live = LiveDataManager(client)
        let monitor = MatchMonitor(client)
        let table = Table()

        try await withThrowingTaskGroup(of: Void.self) { group in
            let events = live.events
            let matches = monitor.matches
            group.addTask { for await event in events { table.show(event) } }
            group.addTask { for try await match in matches { table.show(match) } }
            try await live.subscribe(to: options.criteria)
            for device in options.devices { try await monitor.start(device) }
            group.addTask {
                await interruption()
                throw Interrupted()
            }
            // Until Ctrl-C, or until the connection ends for good.
            do {
                while try await group.next() != nil {}
            } catch is Interrupted {
                // Else the daemon would publish for nobody until the lease ends.
                try await live.unsubscribeAll()
                await client.close()
                group.cancelAll()
            }
        }
    }
}
