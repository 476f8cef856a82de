import AsyncHTTPClient

/// The HTTP clients that posts run on: one, and a new one whenever it has met many endpoints.
///
/// A client remembers something of every endpoint it ever met, and subscriptions can name any number of them. One that is succeeded
/// ends with its last post.
struct Clients {
    /// Names the client that a post runs on.
    typealias Number = Int

    private struct Member {
        var client: HTTPClient
        var origins: Set<String> = []
        var running = 0
    }

    private let originsMaximum: Int
    private let make: @Sendable () -> HTTPClient
    private var members: [Number: Member] = [:]
    private var latest: Number = 0

    init(originsMaximum: Int, make: @escaping @Sendable () -> HTTPClient) {
        self.originsMaximum = originsMaximum
        self.make = make
        members[latest] = Member(client: make())
    }

    var count: Int { members.count }

    /// The client for a post to an endpoint; it stays until ``giveBack(_:)``.
    ///
    /// - Returns: Also one that has to be shut down now.
    mutating func take(for origin: String) -> (number: Number, client: HTTPClient, retired: HTTPClient?) {
        var retired: HTTPClient?
        var member = members[latest] ?? Member(client: make())
        if member.origins.count >= originsMaximum, !member.origins.contains(origin) {
            if member.running == 0 {
                retired = member.client
                members[latest] = nil
            }
            latest += 1
            member = Member(client: make())
        }
        member.origins.insert(origin)
        member.running += 1
        members[latest] = member
        return (latest, member.client, retired)
    }

    /// A post is over.
    ///
    /// - Returns: A client that has to be shut down now.
    mutating func giveBack(_ number: Number) -> HTTPClient? {
        members[number]?.running -= 1
        guard number != latest, members[number]?.running == 0 else { return nil }
        return members.removeValue(forKey: number)?.client
    }

    /// Ends with all of them.
    mutating func removeAll() -> [HTTPClient] {
        defer { members = [:] }
        return members.values.map(\.client)
    }
}
