import Wire
@testable import Records

// What clients saw, beside what the twin says.

extension Simulation {
    /// A match message as it came, first delivery only.
    struct Delivered {
        var id: String
        var isEnd: Bool
        var visit: String?
        var pair: NaiveTwin.Pair
        var body: JSONObject
    }

    /// - Returns: What is wrong; empty when nothing is.
    func verify() -> [String] {
        var wrong = faults
        if let fault = disk.fault { wrong.append(fault) }
        if let overlap = broker.overlap { wrong.append("filters overlap: \(overlap)") }
        if !open.isEmpty { wrong.append("without a reply: \(open.map(\.id))") }
        var matches: [Delivered] = []
        wrong += collect(&matches)
        wrong += verifyBodies(matches)
        wrong += verifyOnce(matches)
        wrong += verifyVisits(matches)
        wrong += verifyCounters(matches)
        wrong += verifyLiveStates()
        wrong += verifyLiveSubscription()
        wrong += verifyPosts(matches)
        return wrong
    }

    /// Who follows a circle knows in the end who is in it, and where.
    private func verifyLiveSubscription() -> [String] {
        readLive()
        return Self.devices.compactMap { device in
            let place = twin.positions[device]?.place
            let expected = place.flatMap { NaiveTwin.distance($0, Self.watchedPlace) <= Self.watchedRadius ? Int64($0) : nil }
            // With the last second before a crash goes who was shown what in it.
            guard followed[device] != expected, !(expected == nil && unsure.contains(device)) else { return nil }
            return "who follows the circle knows \(device) at \(followed[device] ?? -1), it is at \(expected ?? -1)"
        }
    }

    /// What goes to the match topic goes to the subscription's webhook, under the same id.
    private func verifyPosts(_ matches: [Delivered]) -> [String] {
        var wrong: [String] = []
        if let fault = endpoint.fault { wrong.append(fault) }
        var known: Set<String> = []
        for match in matches {
            known.insert(match.id)
            let hasWebhook = match.body["subscription"]?.asObject?["pushers"]?.asArray?.isEmpty == false
            if hasWebhook != (endpoint.taken[match.id] != nil) {
                wrong.append("\(match.id) has \(hasWebhook ? "a" : "no") webhook and \(hasWebhook ? "never came" : "came") there")
            }
        }
        for id in endpoint.taken.keys.sorted() where !known.contains(id) { wrong.append("\(id) came to a webhook alone") }
        return wrong
    }

    private func collect(_ matches: inout [Delivered]) -> [String] {
        var wrong: [String] = []
        var bodies: [String: [UInt8]] = [:]
        for message in broker.seen where message.topic.hasPrefix("geomatch/d/c/match/") {
            guard let body = (try? JSONValue.parse(message.payload))?.asObject, let id = body["id"]?.asString,
                let event = body["event"]?.asString, let subscription = body["subscription"]?.asObject?["id"]?.asString,
                let publication = body["publication"]?.asObject?["id"]?.asString
            else {
                wrong.append("no match: \(String(decoding: message.payload, as: UTF8.self))")
                continue
            }
            if let known = bodies[id] {
                if known != message.payload { wrong.append("match \(id) came with two bodies") }
                continue
            }
            bodies[id] = message.payload
            matches.append(
                Delivered(
                    id: id, isEnd: event == "ended", visit: body["visit"]?.asString,
                    pair: .init(subscription: subscription, publication: publication), body: body))
        }
        return wrong
    }

    /// Each match is true by its own figures, and its devices did say they were there.
    private func verifyBodies(_ matches: [Delivered]) -> [String] {
        var wrong: [String] = []
        for match in matches where !match.isEnd {
            guard let publication = match.body["publication"]?.asObject, let subscription = match.body["subscription"]?.asObject,
                let a = place(publication), let b = place(subscription), let reach = publication["range"]?.asDouble,
                let other = subscription["range"]?.asDouble
            else {
                wrong.append("match \(match.id) is not whole")
                continue
            }
            if NaiveTwin.distance(a, b) > reach + other {
                wrong.append("match \(match.id): places \(a) and \(b) are too far apart")
            }
            for (side, place) in [(publication, a), (subscription, b)] {
                let device = side["deviceId"]?.asString ?? ""
                if twin.visited[device]?.contains(place) != true {
                    wrong.append("match \(match.id): \(device) never was at place \(place)")
                }
            }
        }
        return wrong
    }

    private func place(_ side: JSONObject) -> Int? {
        guard let latitude = side["location"]?.asObject?["latitude"]?.asDouble else { return nil }
        return Self.places.first { abs(NaiveTwin.latitude(of: $0) - latitude) < 1e-7 }
    }

    /// `once` means once: no pair under two ids, and none is missing.
    private func verifyOnce(_ matches: [Delivered]) -> [String] {
        var wrong: [String] = []
        var ids: [NaiveTwin.Pair: [String]] = [:]
        for match in matches where match.body["subscription"]?.asObject?["mode"]?.asString == "once" {
            ids[match.pair, default: []].append(match.id)
        }
        for (pair, ids) in ids.sorted(by: { $0.key < $1.key }) where ids.count > 1 { wrong.append("\(pair) matched as \(ids)") }
        for pair in twin.met.sorted() where ids[pair] == nil { wrong.append("\(pair) met and was never reported") }
        return wrong
    }

    /// Visits of a pair begin and end in turn, each end names its begin, and what is open at the end is in range: it alone is durable.
    private func verifyVisits(_ matches: [Delivered]) -> [String] {
        var wrong: [String] = []
        var running: [NaiveTwin.Pair: String] = [:]
        for match in matches where match.body["subscription"]?.asObject?["mode"]?.asString == "visit" {
            if match.isEnd {
                let begin = running.removeValue(forKey: match.pair)
                if begin == nil || begin != match.visit {
                    wrong.append("\(match.pair): \(match.id) ends \(match.visit ?? "-"), not \(begin ?? "-")")
                }
            } else {
                if let begin = running[match.pair] { wrong.append("\(match.pair): \(match.id) begins within \(begin)") }
                if match.visit != match.id { wrong.append("\(match.id) is not its own visit") }
                running[match.pair] = match.id
            }
        }
        let durable = disk.durable.visits.map(\.id).sorted()
        if durable != running.values.sorted() { wrong.append("visits \(durable) are durable, \(running.values.sorted()) go on") }
        for (id, subscription) in twin.subscriptions.sorted(by: { $0.key < $1.key }) where subscription.isVisit {
            for publication in twin.publications.keys.sorted() {
                let pair = NaiveTwin.Pair(subscription: id, publication: publication)
                let isVisiting = running.removeValue(forKey: pair) != nil
                if let expected = twin.isMeeting(pair, at: now), expected != isVisiting {
                    wrong.append("\(pair) is \(expected ? "in" : "out of") range and its visit is \(isVisiting ? "on" : "off")")
                }
            }
        }
        for (pair, begin) in running.sorted(by: { $0.key < $1.key }) { wrong.append("\(pair): \(begin) never ended") }
        return wrong
    }

    /// Every message is counted once, whatever died meanwhile.
    private func verifyCounters(_ matches: [Delivered]) -> [String] {
        var wrong: [String] = []
        for reply in replies.values.sorted() where reply.contains("subscription/get") {
            guard let result = (try? JSONValue.parse(reply))?.asObject?["result"]?.asObject, let id = result["id"]?.asString,
                let delivery = result["delivery"]?.asObject
            else { continue }
            // An id may have been taken again: only what is of this one.
            let count = Int64(
                matches.count {
                    $0.pair.subscription == id && $0.body["subscription"]?.asObject?["createdAt"] == result["createdAt"]
                })
            let figures = ["matched", "delivered", "expired", "dropped", "pending"].map { delivery[$0]?.asInt64 ?? -1 }
            if figures != [count, count, 0, 0, 0] { wrong.append("\(id): \(count) messages, counted as \(figures)") }
        }
        return wrong
    }

    /// The broker retains what each device said last.
    private func verifyLiveStates() -> [String] {
        Self.devices.compactMap { device in
            let payload = broker.retained["live/d/-/-/-/-/\(device)/position"] ?? []
            let place = (try? JSONValue.parse(payload))?.asObject?["properties"]?.asObject?["place"]?.asInt64
            let expected = twin.positions[device]?.place
            return place == expected.map(Int64.init) ? nil : "\(device) is retained at \(place ?? -1), not at \(expected ?? -1)"
        }
    }
}
