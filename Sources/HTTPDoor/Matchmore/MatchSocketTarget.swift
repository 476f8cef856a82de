import HTTPTypes
import LiveTopics
import Wire

/// The device whose matches a socket of an old client carries.
struct MatchSocketTarget: Sendable {
    var device: MatchSockets.Device
    /// Who asks; nil where the device's id and its world are all that was said.
    var caller: Caller?
    /// The client offered `api-key` as a subprotocol, and hears it back.
    var offersKey: Bool
    /// Why a page of this origin may not open it, unless the device belongs to somebody with a key, as which the page may have made it.
    var pageRefusal: WireError?
}

extension RequestHead {
    var isMatchSocket: Bool { path.first { !$0.isEmpty } == "pusher" }
}

extension HTTPDoor {
    /// What `/pusher/v5/ws/{deviceId}` leads to.
    ///
    /// The clients offer `api-key` and the world's id as subprotocols: that is no secret, but the ids of devices are, and ids are all
    /// that a socket carries.
    func matchSocket(_ head: RequestHead) throws(HTTPRefusal) -> MatchSocketTarget {
        let levels = head.path.filter { !$0.isEmpty }
        guard levels.count == 4, levels.starts(with: ["pusher", "v5", "ws"]) else {
            throw .noPath("/" + head.path.joined(separator: "/"))
        }
        guard head.method == .get else { throw .method(head.method, allow: "GET") }
        try head.checkSocketKey()
        let offered = head.offeredProtocols
        let (world, caller) = try matchSocketCaller(head, named: offered.first { $0 != "api-key" })
        var target = MatchSocketTarget(
            device: MatchSockets.Device(world: world, id: levels[3]), caller: caller, offersKey: offered.contains("api-key"))
        guard caller == nil, callers.trusts(head) else { return target }
        do throws(HTTPRefusal) {
            try callers.checkPage(head)
        } catch {
            target.pageRefusal = error.error
        }
        return target
    }

    private func matchSocketCaller(
        _ head: RequestHead, named: String?
    ) throws(HTTPRefusal) -> (world: String, caller: Caller?) {
        if head.credentials != nil {
            let caller = try callers.matchmoreCaller(of: head)
            guard named == nil || named == caller.world else {
                throw .forbidden("the key is for `\(caller.world)`, and the subprotocol names another world")
            }
            return (caller.world, caller.caller)
        }
        guard !configuration.matchSocketsNeedKeys else {
            throw .unauthorized("a key is required: `?key=KEY` (`http.matchmore-socket-key`)")
        }
        guard let world = named ?? (callers.trusts(head) ? head.parameter("dataset") : nil), Name.isDataset(world) else {
            throw .unauthorized("the subprotocols `api-key` and the world's id are required, or `?key=KEY`")
        }
        return (world, nil)
    }
}

extension HTTPResponder {
    /// Why a request for a socket of an old client became none.
    func matchSocketRefusal(_ exchange: HTTPExchange) async -> HTTPAnswer {
        do throws(HTTPRefusal) {
            let target = try door.matchSocket(exchange.head)
            let found = await door.onCore { door in
                Result { () throws(WireError) in _ = try door.openable(target) }
            }
            if case .failure(let error)? = found { throw HTTPRefusal(error) }
            throw .upgradeRequired
        } catch {
            return error.matchmoreAnswer
        }
    }
}
