import AsyncHTTPClient
import Datasets

/// The HTTP clients that posts run on.
///
/// One for all endpoints that are given by their address, and one for each name and the address it was resolved to: which address
/// a name means can be set for a whole client only. A client remembers something of every endpoint it ever met, and subscriptions can
/// name any number of them, so one that met many is succeeded by another, and ends with its last post.
struct Clients {
    /// What a name was resolved to and checked as.
    struct Resolved: Hashable {
        var name: String
        var address: IPAddress
    }

    /// Names the client that a post runs on.
    typealias Number = Int

    private struct Member {
        var client: HTTPClient
        var origins: Set<String> = []
        var running = 0
        var resolved: Resolved?
        var usedAt = 0
    }

    private let originsMaximum: Int
    private let namesMaximum: Int
    private let make: @Sendable (Resolved?) -> HTTPClient
    private var members: [Number: Member] = [:]
    private var latest: [Resolved?: Number] = [:]
    private var lastNumber: Number = 0
    private var uses = 0

    init(originsMaximum: Int, namesMaximum: Int, make: @escaping @Sendable (Resolved?) -> HTTPClient) {
        self.originsMaximum = originsMaximum
        self.namesMaximum = namesMaximum
        self.make = make
    }

    var count: Int { members.count }

    /// The client for a post to an endpoint; it stays until ``giveBack(_:)``.
    ///
    /// - Returns: Also those that have to be shut down now.
    mutating func take(
        for origin: String, resolved: Resolved?
    ) -> (number: Number, client: HTTPClient, retired: [HTTPClient]) {
        var retired: [HTTPClient] = []
        if let number = latest[resolved], let member = members[number], member.origins.count >= originsMaximum,
            !member.origins.contains(origin)
        {
            retired += retire(number)
        }
        if latest[resolved] == nil {
            if latest.count > namesMaximum { retired += retireOldest() }
            lastNumber += 1
            latest[resolved] = lastNumber
            members[lastNumber] = Member(client: make(resolved), resolved: resolved)
        }
        guard let number = latest[resolved], var member = members[number] else { preconditionFailure("a client was just made") }
        uses += 1
        member.usedAt = uses
        member.origins.insert(origin)
        member.running += 1
        members[number] = member
        return (number, member.client, retired)
    }

    /// A post is over.
    ///
    /// - Returns: A client that has to be shut down now.
    mutating func giveBack(_ number: Number) -> HTTPClient? {
        guard var member = members[number] else { return nil }
        member.running -= 1
        members[number] = member
        guard latest[member.resolved] != number, member.running == 0 else { return nil }
        return members.removeValue(forKey: number)?.client
    }

    /// Ends with all of them.
    mutating func removeAll() -> [HTTPClient] {
        defer { (members, latest) = ([:], [:]) }
        return members.values.map(\.client)
    }

    /// Nothing new runs on it.
    private mutating func retire(_ number: Number) -> [HTTPClient] {
        guard let member = members[number] else { return [] }
        latest[member.resolved] = nil
        guard member.running == 0 else { return [] }
        members[number] = nil
        return [member.client]
    }

    private mutating func retireOldest() -> [HTTPClient] {
        let named = members.filter { $0.value.resolved != nil && latest[$0.value.resolved] == $0.key }
        return named.min { $0.value.usedAt < $1.value.usedAt }.map { retire($0.key) } ?? []
    }
}
