import Matching

// What of the past keeps a pair from matching now, and when it may match again.

extension ExplainedPair {
    var suppression: Explanation.Check {
        let (passes, detail) = judged
        return .init("suppression", passes, detail)
    }

    private var judged: (passes: Bool, detail: String) {
        let terms = subscription.terms
        if terms.excludesSelf, publication.deviceId.hasSameBytes(as: subscription.deviceId) {
            return (false, "both hang on the same device, and excludeSelf is set")
        }
        guard publicationLife.isAlive, subscriptionLife.isAlive else {
            return (true, "nothing is remembered of a pair that has ended")
        }
        switch (terms.mode, memory) {
        case (_, .nothing): return (true, "no earlier match stands in the way")
        case (.once, .matched(let last)): return (last.isOver, text(of: last, terms))
        case (.visit, .matched): return (true, "no earlier match stands in the way")
        }
    }

    private func text(of last: PairMemory.LastMatch, _ terms: Terms) -> String {
        let ago = "matched \(FigureText.seconds(milliseconds: now - last.at)) ago"
        let moved = max(last.publicationMoved, last.subscriptionMoved)
        guard !last.isOver else {
            if terms.matchTTL == 0 { return "\(ago); matchTTL is 0: again with every movement" }
            if terms.matchTTL != .max, now - last.at >= terms.matchTTL {
                return "\(ago); matchTTL \(FigureText.seconds(milliseconds: terms.matchTTL)) has elapsed since"
            }
            return tellsFigures
                ? "\(ago); a side has moved \(FigureText.metres(moved)) since, matchDTL is \(FigureText.metres(terms.matchDTL))"
                : "\(ago); a side has moved by matchDTL since"
        }
        let byTime =
            terms.matchTTL == .max
            ? "again only" : "again in \(FigureText.seconds(milliseconds: last.at + terms.matchTTL - now)) (matchTTL), or"
        let byPlace = "when a side stands \(FigureText.metres(terms.matchDTL)) (matchDTL) from where it stood then"
        let soFar =
            tellsFigures
            ? "; so far the publication has moved \(FigureText.metres(last.publicationMoved)), the subscription \(FigureText.metres(last.subscriptionMoved))"
            : ""
        return "\(ago); \(byTime) \(byPlace)\(soFar)"
    }
}
