import Geodesy
import Matching
import Selectors
import Testing

@Suite("Visits after a restart")
struct VisitRestartTests {
    /// A restored pair; nil: the side's position is not known yet.
    private final class Restored {
        let engine = Engine()
        let publisher: DeviceRef
        let subscriber: DeviceRef
        let publication: PublicationRef
        let subscription: SubscriptionRef
        var effects: [Effect] = []

        init(
            _ options: MatchOptions, at metres: Double?, isVisiting: Bool, stayingSince: Int64? = nil, heardAt: Int64 = 0
        ) throws {
            publisher = engine.addDevice()
            subscriber = engine.addDevice()
            engine.place(publisher, at: Fence.position(0), heardAt: heardAt)
            if let metres { engine.place(subscriber, at: Fence.position(metres), heardAt: heardAt) }
            publication = engine.addPublication(
                on: publisher, topic: "t", range: 100, expiresAt: .max, properties: .none, at: 1000, evaluate: false,
                into: &effects)
            subscription = engine.addSubscription(
                on: subscriber, topic: "t", range: 50, expiresAt: .max, selector: try Selector(""), options: options, at: 1000,
                evaluate: false, into: &effects)
            if isVisiting { engine.restoreVisit(subscription, publication, since: 500, at: 1000) }
            if let stayingSince { engine.restoreStay(subscription, publication, since: stayingSince, at: 1000) }
        }

        func reasons() -> [String] {
            defer { effects = [] }
            return effects.compactMap {
                switch $0 {
                case .visitEnded(let end): "\(end.reason)"
                case .stay: nil
                default: "began"
                }
            }
        }

        func resume() -> [String] {
            engine.resume(at: 1000, into: &effects)
            return reasons()
        }

        func advance(to now: Int64) -> [String] {
            engine.advance(to: now, into: &effects)
            return reasons()
        }

        func stand(_ metres: Double, at now: Int64) -> [String] {
            engine.move(subscriber, to: Fence.position(metres), at: now, into: &effects)
            return reasons()
        }
    }

    @Test("A restored visit goes on silently and ends as it would have")
    func goesOn() throws {
        let restored = try Restored(.visit(), at: 10, isVisiting: true)
        #expect(restored.resume() == [])
        #expect(restored.engine.visits(of: restored.subscription) == [Visit(publication: restored.publication, since: 500)])
        #expect(restored.stand(20, at: 1001) == [])
        #expect(restored.stand(200, at: 1002) == ["left"])
    }

    @Test("The first sight of a device decides a restored visit, and invents nothing", arguments: [true, false])
    func firstSight(_ isInside: Bool) throws {
        let restored = try Restored(.visit(), at: nil, isVisiting: true)
        #expect(restored.resume() == [])
        #expect(restored.stand(isInside ? 10 : 300, at: 1001) == (isInside ? [] : ["left"]))
    }

    @Test("What is in range without a visit begins its stay with the restart, not before")
    func staysBegin() throws {
        let restored = try Restored(.visit(dwell: 5000), at: 10, isVisiting: false)
        #expect(restored.resume() == [])
        #expect(restored.engine.nextDeadline == 6000)
        restored.engine.advance(to: 6000, into: &restored.effects)
        #expect(restored.reasons() == ["began"])
        #expect(try Restored(.visit(), at: 10, isVisiting: false).resume() == ["began"])
        #expect(try Restored(.visit(), at: 200, isVisiting: false).resume() == [])
    }

    @Test("A restored stay goes on from when it began, also where its positions come back after it", arguments: [true, false])
    func staysGoOn(_ isPlacedFirst: Bool) throws {
        let restored = try Restored(.visit(dwell: 5000), at: isPlacedFirst ? 10 : nil, isVisiting: false, stayingSince: 500)
        if !isPlacedFirst { restored.engine.place(restored.subscriber, at: Fence.position(10), heardAt: 0) }
        #expect(restored.resume() == [])
        #expect(restored.engine.nextDeadline == 5500)
        #expect(restored.advance(to: 5499) == [])
        #expect(restored.advance(to: 5500) == ["began"])
    }

    @Test("A dwell that was over while no engine ran begins its visit at once; one of an unseen device waits for its position")
    func staysOverMeanwhile() throws {
        let over = try Restored(.visit(dwell: 400), at: 10, isVisiting: false, stayingSince: 500)
        #expect(over.resume() == [])
        #expect(over.advance(to: 1000) == ["began"])
        for (metres, expected) in [(10, ["began"]), (155, []), (300, [])] as [(Double, [String])] {
            let unseen = try Restored(.visit(dwell: 400), at: nil, isVisiting: false, stayingSince: 500)
            #expect(unseen.resume() == [])
            #expect(unseen.engine.nextDeadline == nil)
            #expect(unseen.stand(metres, at: 2000) == expected)
            #expect(unseen.engine.pairCount == expected.count)
        }
    }

    @Test("A restored stay that ended since, became a visit or changed its mode is what it is by now, without a word")
    func staysFollowed() throws {
        let ended = try Restored(.visit(dwell: 5000), at: 200, isVisiting: false, stayingSince: 500)
        ended.engine.restoreEnd(ended.subscription, ended.publication)
        let begun = try Restored(.visit(dwell: 5000), at: 10, isVisiting: false, stayingSince: 500)
        begun.engine.restoreVisit(begun.subscription, begun.publication, since: 900, at: 1000)
        let once = try Restored(.visit(dwell: 5000), at: 10, isVisiting: false, stayingSince: 500)
        once.engine.update(
            once.subscription, topic: "t", range: 50, expiresAt: .max, selector: try Selector(""), options: .once(), at: 1000,
            evaluate: false, into: &once.effects)
        for restored in [ended, begun, once] {
            restored.engine.resume(at: 1000, into: &restored.effects)
            #expect(restored.effects.isEmpty)
        }
        #expect(ended.engine.pairCount == 0 && once.engine.pairCount == 0)
        #expect(begun.engine.visits(of: begun.subscription) == [Visit(publication: begun.publication, since: 900)])
    }

    @Test("A side that was silent for too long loses its restored visit; one that was never placed gets its time")
    func silence() throws {
        let restored = try Restored(.visit(staleAfter: 900), at: 10, isVisiting: true)
        #expect(restored.resume() == [])
        restored.engine.advance(to: 1000, into: &restored.effects)
        #expect(restored.reasons() == ["lost"])
        let unseen = try Restored(.visit(staleAfter: 900), at: nil, isVisiting: true, heardAt: 1000)
        #expect(unseen.engine.nextDeadline == 1900)
        unseen.engine.advance(to: 1900, into: &unseen.effects)
        #expect(unseen.reasons() == ["lost"])
        #expect(unseen.engine.pairCount == 0)
    }

    @Test("`staleAfter` began anew with a restart where the position came back after its visit")
    func silenceGoesOn() throws {
        let restored = try Restored(.visit(staleAfter: 1200), at: nil, isVisiting: true, heardAt: 900)
        restored.engine.place(restored.subscriber, at: Fence.position(10), heardAt: 300)
        #expect(restored.resume() == [])
        #expect(restored.engine.nextDeadline == 1500)
        #expect(restored.advance(to: 1499) == [])
        #expect(restored.advance(to: 1500) == ["lost"])
        let over = try Restored(.visit(staleAfter: 900), at: nil, isVisiting: true, heardAt: 900)
        over.engine.place(over.subscriber, at: Fence.position(10), heardAt: 0)
        #expect(over.resume() == [])
        #expect(over.advance(to: 1000) == ["lost"])
    }

    @Test("A position cleared on demand ends a restored visit though the device was not seen yet")
    func clearedUnseen() throws {
        let restored = try Restored(.visit(), at: nil, isVisiting: true)
        restored.engine.move(restored.subscriber, to: nil, at: 1001, into: &restored.effects)
        #expect(restored.reasons() == ["lost"])
    }

    @Test("Visits and last matches are each restored for their own mode only")
    func ownMode() throws {
        let visit = try Restored(.visit(), at: 10, isVisiting: false)
        let last = Suppression(lastMatchAt: 1, publicationPosition: Fence.position(0), subscriptionPosition: Fence.position(0))
        visit.engine.restoreSuppression(visit.subscription, visit.publication, last)
        let once = try Restored(.once(), at: 10, isVisiting: true)
        #expect(visit.engine.pairCount == 0 && once.engine.pairCount == 0)
        #expect(once.engine.visits(of: once.subscription).isEmpty)
    }
}
