import Datasets
import NIOCore

// Live updates for many sockets that are sent the same.

/// Where what is for an audience leads.
final class AudienceRoute {
    struct Socket {
        let stream: EventStream
        let member: Audience.Member
        let frameHead: [UInt8]
    }

    let audience: Audience
    let sockets: [Socket]
    /// Whose live subscription was not made on a socket.
    let others: [Audience.Member]

    init(_ audience: Audience, sockets: [Socket], others: [Audience.Member]) {
        self.audience = audience
        self.sockets = sockets
        self.others = others
    }
}

/// Live updates for an audience that have not left yet.
struct OpenFrames {
    let route: AudienceRoute
    var payloads: [UInt8] = []
    var ends: [(end: Int, topicNumber: UInt32)] = []
}

extension HTTPDoor {
    /// What waits for an audience leaves as one from so many bytes on.
    private static let openBytesMax = 32 << 10
    /// So long may what waits for an audience that asks for no update of a topic within an interval, and no longer than half of that:
    /// each of its sockets costs a write then, ten times a second at most.
    private static let framesWaitMilliseconds: Int64 = 100

    private func route(of audience: Audience) -> AudienceRoute {
        if let route = audience.isPassing ? passingRoute : audienceRoutes[ObjectIdentifier(audience)], route.audience === audience
        {
            return route
        }
        var (sockets, others): ([AudienceRoute.Socket], [Audience.Member]) = ([], [])
        for member in audience.members {
            if let route = socketRoute(of: member.recipient), let stream = route.stream, let head = route.frameHead {
                sockets.append(AudienceRoute.Socket(stream: stream, member: member, frameHead: head))
            } else {
                others.append(member)
            }
        }
        let route = AudienceRoute(audience, sockets: sockets, others: others)
        if audience.isPassing { passingRoute = route } else { audienceRoutes[ObjectIdentifier(audience)] = route }
        return route
    }

    public func keepsForItself(_ audience: Audience) -> Bool {
        !socketSubscriptions.isEmpty && route(of: audience).others.isEmpty
    }

    func notify(_ audience: Audience, of topicNumber: UInt32, _ payload: ArraySlice<UInt8>) {
        guard !streams.isEmpty else { return }
        let route = route(of: audience)
        for member in route.others { notify(audience.notification(to: member, of: topicNumber), payload) }
        guard !route.sockets.isEmpty else { return }
        // What some of an audience receive by themselves is neither ahead of what all received before nor behind what comes later.
        if let open = openFrames.last, open.route.audience !== audience, audience.isPassing || open.route.audience.isPassing {
            sendOpenFrames()
        }
        let index = openFrames.firstIndex { $0.route.audience === audience } ?? openFrames.count
        if index == openFrames.count { openFrames.append(OpenFrames(route: route)) }
        openFrames[index].payloads += payload
        openFrames[index].ends.append((openFrames[index].payloads.count, topicNumber))
        if openFrames[index].payloads.count >= Self.openBytesMax { sendOpenFrames() }
    }

    /// A batch is over: what waits for audiences leaves, or before long.
    func endFrames() {
        guard !openFrames.isEmpty else { return }
        let wait = min(Self.framesWaitMilliseconds, openFrames.lazy.map { $0.route.audience.minInterval / 2 }.min() ?? 0)
        guard wait > 0, let loop = openFrames[0].route.sockets[0].stream.loop else { return sendOpenFrames() }
        let due = NIODeadline.now() + .milliseconds(wait)
        if let framesDue, framesDue <= due { return }
        framesDue = due
        loop.scheduleTask(deadline: due) { [weak self] in
            guard let self else { return }
            self.submit { door in
                door.framesDue = nil
                door.sendOpenFrames()
            }
        }
    }

    /// Sends what waits for audiences: ahead of all that comes later.
    func sendOpenFrames() {
        guard !openFrames.isEmpty else { return }
        let all = openFrames
        openFrames = []
        var readers: [ObjectIdentifier: (loop: any EventLoop, all: [StreamReader])] = [:]
        for open in all {
            let frames = SharedFrames(payloads: open.payloads, ends: open.ends)
            for socket in open.route.sockets {
                switch socket.stream.append(frames, under: socket.frameHead) {
                case .waits(let reader):
                    guard let reader, let loop = reader.loop else { continue }
                    readers[ObjectIdentifier(loop), default: (loop, [])].all.append(reader)
                case .isSlow: sendOneByOne(frames, of: open.route.audience, to: socket)
                }
            }
        }
        // One call wakes all that a thread has.
        for (loop, all) in readers.values {
            loop.execute { for reader in all { reader.notify() } }
        }
    }

    /// To a reader that is slow.
    private func sendOneByOne(_ frames: SharedFrames, of audience: Audience, to socket: AudienceRoute.Socket) {
        frames.forEach { payload, topicNumber in
            let message = StreamMessage(
                path: socket.member.recipient.path, payload: Array(payload), frameHead: socket.frameHead)
            send(live: message, audience.token(of: topicNumber, for: socket.member), to: socket.stream)
        }
    }
}
