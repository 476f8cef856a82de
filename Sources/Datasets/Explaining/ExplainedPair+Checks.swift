import Geodesy
import Matching
import Selectors

// The rules of a match, each by itself: a rule that fails hides none behind it.

extension ExplainedPair {
    func explain() -> Explanation {
        Explanation(checks: [topic, lifetime, location, floor, range, selector, suppression])
    }

    private var topic: Explanation.Check {
        let detail =
            if topicsAreEqual {
                "both have the topic `\(subscription.topic)`"
            } else if showsFigures {
                "the publication's topic is `\(publication.topic)`, the subscription's `\(subscription.topic)`"
            } else {
                "the publication's topic is not `\(subscription.topic)`"
            }
        return .init("topic", topicsAreEqual, detail)
    }

    /// What a check comes to is not reported: by trying, a client would learn what another's publication says and where it is. It counts
    /// as failed, as another check has.
    static func withheld(_ name: String) -> Explanation.Check {
        .init(name, false, "not reported: the publication is another client's, and its topic or range does not pass")
    }

    // MARK: Time

    private var lifetime: Explanation.Check {
        let lives = [("publication", publicationLife, showsFigures), ("subscription", subscriptionLife, true)]
        let ended = lives.filter { !$0.1.isAlive }
        let texts = (ended.isEmpty ? lives : ended).map { name, life, isShown in
            isShown ? sentence(name, life) : "the \(name) \(life.isAlive ? "lives" : "has ended")"
        }
        return .init("lifetime", ended.isEmpty, texts.joined(separator: ", "))
    }

    private func sentence(_ name: String, _ life: Life) -> String {
        switch life {
        case .alive(.max): "\(name) lives without end"
        case .alive(let until): "\(name) lives for another \(FigureText.seconds(milliseconds: until - now))"
        case .expired(let at): "\(name) expired \(FigureText.seconds(milliseconds: now - at)) ago"
        case .deleted(let at): "\(name) was deleted \(FigureText.seconds(milliseconds: now - at)) ago"
        case .comparedOnce(let at):
            "\(name) had the duration 0 and was compared once, \(FigureText.seconds(milliseconds: now - at)) ago"
        }
    }

    // MARK: Place

    private var location: Explanation.Check {
        if isOfBeacon { return sighted }
        let sides = [
            ("publication", publicationPlace, publication.deviceId, showsFigures),
            ("subscription", subscriptionPlace, subscription.deviceId, true),
        ]
        let lost = sides.filter { $0.1.position == nil }
        guard lost.isEmpty else {
            let texts = lost.map { name, place, id, isShown in
                let device = isShown ? "the \(name)'s device `\(id)`" : "the \(name)'s device"
                return place.hasDevice ? "\(device) has no known position" : "\(device) is gone"
            }
            return .init("location", false, texts.joined(separator: ", "))
        }
        guard showsFigures else { return .init("location", true, "both devices have a position") }
        let texts = sides.map { name, place, _, _ in
            place.isShown ? "\(name) at \(place.position.map(Self.text) ?? "")" : "\(name) at a private position"
        }
        return .init("location", true, texts.joined(separator: ", "))
    }

    private static func text(_ position: Position) -> String {
        let accuracy = position.horizontalAccuracy.map { " ± \(FigureText.metres($0))" } ?? ""
        return "\(degrees(position.latitude)), \(degrees(position.longitude))\(accuracy)"
    }

    /// Six decimals: to a decimetre.
    private static func degrees(_ value: Double) -> String { "\((value * 1e6).rounded() / 1e6)" }

    private var floor: Explanation.Check {
        guard subscription.options.sameFloor else { return .init("floor", true, "any floor will do") }
        guard showsFigures else { return Self.withheld("floor") }
        let here = publicationPlace.floor
        let there = subscriptionPlace.floor
        let detail =
            if here != .unknown, there != .unknown {
                here == there ? "both are on the same floor of the same building" : "the floors are not the same"
            } else if there != .unknown {
                "the floor of the publication's device is not known"
            } else {
                here == .unknown ? "neither floor is known" : "the floor of the subscription's device is not known"
            }
        return .init("floor", here == there && here != .unknown, detail)
    }

    private var range: Explanation.Check {
        guard showsRange else { return Self.withheld("range") }
        if isOfBeacon { return sightedRange }
        guard let proximity else { return .init("range", false, "without both positions there is no distance") }
        guard showsFigures else { return .init("range", proximity.isInRange, proximity.isInRange ? "in range" : "out of range") }
        let counted = proximity.distance + proximity.allowance
        // Near the boundary one sees which side of it.
        let decimals = abs(counted - proximity.reach) < 0.5 ? 3 : 1
        func metres(_ value: Double) -> String { FigureText.metres(value, decimals: decimals) }
        guard proximity.isUsable else {
            let limit = FigureText.decimal(LikelyRule.accuracyMax(depth: proximity.reach), 1)
            return .init("range", false, "likely: fixes of \(accuracies) m decide nothing here, it takes \(limit) m or better")
        }
        var detail = "distance \(metres(proximity.distance))"
        if subscription.options.accuracy == .likely {
            detail += " plus \(metres(proximity.allowance)) for likely accuracies (\(accuracies)) is \(metres(counted))"
        } else if subscription.options.accuracy != .centre {
            let sign = subscription.options.accuracy == .possible ? "less" : "plus"
            detail += " \(sign) accuracies \(metres(abs(proximity.allowance))) (\(accuracies)) is \(metres(counted))"
        }
        detail += ", reach \(metres(proximity.reach)) (\(ranges))"
        if proximity.isInRange != (counted <= proximity.reach) { detail += ", decided to within 2 cm" }
        return .init("range", proximity.isInRange, detail)
    }

    private var ranges: String {
        "\(FigureText.decimal(publication.range, 1)) + \(FigureText.decimal(subscription.range, 1))"
    }

    private var accuracies: String {
        [publicationPlace, subscriptionPlace].map { place in
            place.position.map { $0.horizontalAccuracy == nil ? "none sent" : FigureText.decimal(Proximity.counted($0), 1) } ?? ""
        }.joined(separator: " + ")
    }

    // MARK: Selector

    private var selector: Explanation.Check {
        guard let selector = try? Selector(subscription.selector), let properties = try? publication.decodedProperties else {
            return .init("selector", false, "the selector cannot be read")
        }
        if selector.matchesAll { return .init("selector", true, "there is no selector: all properties will do") }
        guard showsFigures else { return Self.withheld("selector") }
        let explanation = selector.explain(properties)
        return .init("selector", explanation.truth == true, explanation.sentence)
    }
}
