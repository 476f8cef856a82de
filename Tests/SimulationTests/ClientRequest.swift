import SeededRandom

/// A request a client makes, and what it means to the twin when it is durable.
struct ClientRequest {
    var verb: String
    /// Members of the JSON object, without braces.
    var parameters: String
    private var meaning: @Sendable (inout NaiveTwin, Int64) -> Void

    func apply(to twin: inout NaiveTwin, at now: Int64) { meaning(&twin, now) }

    static func createDevice(_ id: String) -> ClientRequest {
        ClientRequest(verb: "device/create", parameters: #""id":"\#(id)","deviceType":"MobileDevice""#) { _, _ in }
    }

    static func createPublication(_ id: String, _ random: inout SplitMix64) -> ClientRequest {
        let device = random.pick(Simulation.devices)
        let topic = random.pick(["t", "u"])
        let range = Double(random.pick([30, 60]))
        let duration = random.pick(lifetimes)
        let kind = random.below(3)
        return ClientRequest(
            verb: "publication/create",
            parameters: """
                "id":"\(id)","deviceId":"\(device)","topic":"\(topic)","range":\(range),"duration":\(duration),\
                "properties":{"k":\(kind)}
                """
        ) { twin, now in
            twin.publications[id] = .init(
                device: device, topic: topic, range: range, expiresAt: now + duration * 1000, kind: kind)
        }
    }

    static func createSubscription(_ id: String, _ random: inout SplitMix64) -> ClientRequest {
        let device = random.pick(Simulation.devices)
        let topic = random.pick(["t", "u"])
        let range = Double(random.pick([30, 60]))
        let duration = random.pick(lifetimes)
        let selector = random.pick(NaiveTwin.SelectorChoice.allCases)
        let excludesSelf = random.chance(30)
        let isVisit = random.chance(40)
        let dwell = random.chance(50) ? NaiveTwin.dwell : 0
        let pushers = random.chance(40) ? #","pushers":["https://hook.example/\#(id)"]"# : ""
        let visit = #""mode":"visit","exitMargin":\#(NaiveTwin.exitMargin),"dwell":\#(dwell),"#
        let mode = isVisit ? visit : #""matchDTL":1e8,"matchTTL":1e9,"#
        return ClientRequest(
            verb: "subscription/create",
            parameters: """
                "id":"\(id)","deviceId":"\(device)","topic":"\(topic)","range":\(range),"duration":\(duration),\(mode)\
                "selector":"\(selector.rawValue)","excludeSelf":\(excludesSelf)\(pushers)
                """
        ) { twin, now in
            twin.subscriptions[id] = .init(
                device: device, topic: topic, range: range, expiresAt: now + duration * 1000, selector: selector,
                excludesSelf: excludesSelf, isVisit: isVisit)
        }
    }

    static func updatePublication(_ id: String, _ random: inout SplitMix64) -> ClientRequest {
        let kind = random.below(3)
        return ClientRequest(verb: "publication/update", parameters: #""id":"\#(id)","properties":{"k":\#(kind)}"#) { twin, now in
            // One whose time is over is not there any more.
            guard let expiresAt = twin.publications[id]?.expiresAt, expiresAt > now else { return }
            twin.publications[id]?.kind = kind
        }
    }

    static func updateSubscription(_ id: String, _ random: inout SplitMix64) -> ClientRequest {
        let selector = random.pick(NaiveTwin.SelectorChoice.allCases)
        return ClientRequest(
            verb: "subscription/update", parameters: #""id":"\#(id)","selector":"\#(selector.rawValue)""#
        ) { twin, now in
            guard let expiresAt = twin.subscriptions[id]?.expiresAt, expiresAt > now else { return }
            twin.subscriptions[id]?.selector = selector
        }
    }

    static func deletePublication(_ id: String) -> ClientRequest {
        ClientRequest(verb: "publication/delete", parameters: #""id":"\#(id)""#) { twin, _ in twin.publications[id] = nil }
    }

    static func deleteSubscription(_ id: String) -> ClientRequest {
        ClientRequest(verb: "subscription/delete", parameters: #""id":"\#(id)""#) { twin, _ in twin.subscriptions[id] = nil }
    }

    /// The live data of a circle, followed from the beginning to the end.
    static func subscribeLive() -> ClientRequest {
        let circle = """
            {"latitude":\(NaiveTwin.latitude(of: Simulation.watchedPlace)),"longitude":\(NaiveTwin.longitude),\
            "radius":\(Simulation.watchedRadius)}
            """
        return ClientRequest(
            verb: "live/subscribe",
            parameters: #""id":"l","criteria":"d/#","qos":1,"lease":86400,"within":{"circle":\#(circle)}"#
        ) { _, _ in }
    }

    static func read(_ verb: String, _ parameters: String) -> ClientRequest {
        ClientRequest(verb: verb, parameters: parameters) { _, _ in }
    }

    /// Seconds: some end while the simulation runs.
    private static let lifetimes: [Int64] = [20, 60, 10_000_000]

    private init(
        verb: String, parameters: String, _ meaning: @escaping @Sendable (inout NaiveTwin, Int64) -> Void
    ) {
        self.verb = verb
        self.parameters = parameters
        self.meaning = meaning
    }
}
