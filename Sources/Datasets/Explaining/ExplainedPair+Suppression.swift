import Matching
import Records

// What of the past keeps a pair from matching now, and when it may match again.

extension ExplainedPair {
    var suppression: Explanation.Check {
        let (passes, detail) = judged
        return .init("suppression", passes, detail)
    }

    private var judged: (passes: Bool, detail: String) {
        let options = subscription.options
        if options.excludesSelf, publication.deviceId.hasSameBytes(as: subscription.deviceId) {
            return (false, "both belong to the same device, and excludeSelf is set")
        }
        guard publicationLife.isAlive, subscriptionLife.isAlive else {
            return (true, "nothing is remembered of a pair that has ended")
        }
        switch memory {
        case .nothing: return first(options)
        case .matched(let last): return (last.isOver, text(of: last, options))
        case .visiting(let since): return (false, "a visit has been running for \(ago(since))")
        case .staying(let since): return staying(since, options)
        case .unheard(let here, let there): return (false, unheard(here, there, options))
        case .capacityExceeded: return (false, "the subscription or its dataset has as many partners remembered as is allowed")
        }
    }

    private func first(_ options: MatchOptions) -> (passes: Bool, detail: String) {
        guard options.mode == .visit else { return (true, "no earlier match prevents this one") }
        guard options.dwell > 0 else { return (true, "no visit is running") }
        return (false, "no visit is running, and one begins after \(seconds(options.dwell)) in range (dwell)")
    }

    private func staying(_ since: Int64, _ options: MatchOptions) -> (passes: Bool, detail: String) {
        let (begin, overflow) = since.addingReportingOverflow(options.dwell)
        guard overflow || now < begin else { return (true, "in range for \(ago(since)), dwell is over") }
        let rest = overflow ? "" : ": a visit begins in \(seconds(begin - now))"
        return (false, "in range for \(ago(since)) of \(seconds(options.dwell)) (dwell)\(rest)")
    }

    private func unheard(_ here: Int64, _ there: Int64, _ options: MatchOptions) -> String {
        let sides = [("publication", here, showsFigures), ("subscription", there, true)].filter {
            $0.1 == .min || now - $0.1 >= options.staleAfter
        }
        let texts = sides.map { name, at, isShown in
            let since = at == .min || !isShown ? "for too long" : "for \(ago(at))"
            return "the \(name)'s device has not been heard of \(since)"
        }
        return "\(texts.joined(separator: ", ")), staleAfter is \(seconds(options.staleAfter))"
    }

    // MARK: Mode once

    private func text(of last: PairMemory.LastMatch, _ options: MatchOptions) -> String {
        let matched = "matched \(ago(last.at)) ago"
        if last.isOver { return "\(matched); \(reasonForAgain(last, options))" }
        let place = "when a side is \(FigureText.metres(options.matchDTL)) (matchDTL) from where it was then"
        // A match in the far future is one of a clock that was set back.
        let (again, overflow) = last.at.addingReportingOverflow(options.matchTTL)
        let time = overflow ? "again only" : "again in \(seconds(again - now)) (matchTTL), or"
        guard showsFigures else { return "\(matched); \(time) \(place)" }
        let here = FigureText.metres(last.publicationMoved)
        let there = FigureText.metres(last.subscriptionMoved)
        return "\(matched); \(time) \(place); so far the publication has moved \(here), the subscription \(there)"
    }

    private func reasonForAgain(_ last: PairMemory.LastMatch, _ options: MatchOptions) -> String {
        if options.matchTTL == 0 { return "matchTTL is 0: again with every movement" }
        if options.matchTTL != .max, now - last.at >= options.matchTTL {
            return "matchTTL \(seconds(options.matchTTL)) has elapsed"
        }
        guard showsFigures else { return "a side has moved by matchDTL since" }
        let moved = FigureText.metres(max(last.publicationMoved, last.subscriptionMoved))
        return "a side has moved \(moved) since, matchDTL is \(FigureText.metres(options.matchDTL))"
    }

    private func ago(_ instant: Int64) -> String { seconds(now - instant) }

    private func seconds(_ milliseconds: Int64) -> String { FigureText.seconds(milliseconds: milliseconds) }
}
