import GeomatchClient
import Wire

/// The change feed of the client, followed until the command ends.
///
/// It goes on where it was after a lost connection and when the daemon has been started anew, so that each change is shown once.
struct ChangeWatching {
    /// Where it goes on; nil before the daemon has said where its feed ends.
    private var since: Int64?
    private var storeID: String?
    private var left: Int?
    private let asJSON: Bool
    private var output = StandardOutput()

    private static let leaseSeconds: Int64 = 300

    /// - Parameters:
    ///   - since: Changes behind this place; nil for what comes from now on.
    ///   - count: The command ends after so many changes; nil for no end.
    init(since: Int64?, count: Int?, asJSON: Bool) {
        self.since = since
        self.asJSON = asJSON
        left = count
    }

    mutating func run(_ client: GeomatchClient) async throws {
        let feed = client.changeFeed()
        defer { feed.end() }
        try await follow(client)
        StandardError.line(
            "geomatch: watching changes behind \(since ?? 0) of \(client.configuration.dataset), Ctrl-C ends")
        while left != 0, !output.isClosed, !Task.isCancelled {
            switch await feed.next(within: .seconds(Self.leaseSeconds / 2)) {
            case .page(let page)?:
                // What lies between is asked for again where pages were left out.
                if !take(page) { _ = try await renew(client) }
            case .recovered?: if try await renew(client) { StandardError.line("geomatch: connected again") }
            case nil: _ = try await renew(client)
            case .failed(let error)?: throw error
            case .stateChanged?, .turn?: break
            }
        }
        await shielded { _ = try? await client.reply(to: "changes/unfollow", [:], timeout: .seconds(1)) }
    }

    private mutating func follow(_ client: GeomatchClient) async throws {
        var parameters: JSONObject = ["lease": .integer(Self.leaseSeconds)]
        if let since { parameters["since"] = .integer(since) }
        if let storeID { parameters["storeId"] = .string(storeID) }
        let result = try await client.result(of: "changes/follow", parameters, asJSON: asJSON)
        storeID = result.member("storeId")?.asString ?? storeID
        since = since ?? result.member("last")?.asInt64
    }

    /// - Returns: False where the daemon is away: it says when it is there again.
    private mutating func renew(_ client: GeomatchClient) async throws -> Bool {
        do {
            try await follow(client)
            return true
        } catch let error as GeomatchError {
            if error.kind != .cancelled { StandardError.note("\(error.message); trying again") }
            return false
        }
    }

    /// - Returns: False where it does not follow what is known.
    private mutating func take(_ page: JSONObject) -> Bool {
        guard let known = since, let last = page["last"]?.asInt64, last > known else { return true }
        guard let begin = page["since"]?.asInt64, begin <= known else { return false }
        let news = (page["rows"]?.asArray ?? []).compactMap(\.asObject).filter { ($0["seq"]?.asInt64 ?? 0) > known }
        since = last
        storeID = page["storeId"]?.asString ?? storeID
        if asJSON, !news.isEmpty { output.line(JSONValue.object(page).serialised()) }
        for row in news where left != 0 {
            if !asJSON { output.line(WatchLine.change(row)) }
            left = left.map { $0 - 1 }
        }
        output.flush()
        return true
    }
}
