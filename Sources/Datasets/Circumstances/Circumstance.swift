import Circumstances
import Wire
import Records

/// A circumstance as the hub holds it.
final class Circumstance {
    var record: CircumstanceRecord
    let expression: CircumstanceExpression
    var reference: CircumstanceRef

    init(_ record: CircumstanceRecord, _ expression: CircumstanceExpression, reference: CircumstanceRef) {
        self.record = record
        self.expression = expression
        self.reference = reference
    }
}

/// The circumstances of one dataset, and what watches them.
final class CircumstanceBook {
    let engine = CircumstanceEngine()
    /// The engine knows the devices: it does from the first circumstance or place on.
    var isActive = false
    private(set) var circumstances = ByteKeyed<Circumstance>()
    /// By the engine's references, which are dense and reused.
    private var byReference: [Circumstance?] = []
    /// How many each client has.
    private var counts: [String: Int] = [:]
    /// Live topics that were asked for devices, by these: whose circumstances may change with them.
    private var askers = ByteKeyed<Set<UInt32>>()
    /// Stays that the store gave back, until the positions are there.
    var restoredStays = ByteKeyed<StayRow>()

    /// Beyond, all devices whose circumstances ask for live data are evaluated when any changes.
    private static let askedTopicsMax = 1_000_000

    var count: Int { circumstances.count }

    func count(of client: String) -> Int { counts[client] ?? 0 }

    func insert(_ circumstance: Circumstance) {
        if let former = circumstances[circumstance.record.id] { remove(former) }
        circumstances[circumstance.record.id] = circumstance
        while byReference.count <= Int(circumstance.reference.index) { byReference.append(nil) }
        byReference[Int(circumstance.reference.index)] = circumstance
        counts[circumstance.record.owner, default: 0] += 1
    }

    /// Forgets what the engine has let go of, or is about to.
    func remove(_ circumstance: Circumstance) {
        circumstances[circumstance.record.id] = nil
        byReference[Int(circumstance.reference.index)] = nil
        let left = count(of: circumstance.record.owner) - 1
        counts[circumstance.record.owner] = left > 0 ? left : nil
    }

    func circumstance(_ reference: CircumstanceRef) -> Circumstance? {
        Int(reference.index) < byReference.count ? byReference[Int(reference.index)] : nil
    }

    // MARK: Live data

    /// A circumstance of a device asked for the state of a live topic.
    func note(_ device: UInt32, asksFor topic: String) {
        if askers.count >= Self.askedTopicsMax, askers[topic] == nil { return }
        askers[topic, or: []].insert(device)
    }

    /// The devices whose circumstances asked for a topic; they ask again when they are evaluated.
    func takeAskers(of topic: String) -> [UInt32] {
        guard !askers.isEmpty else { return [] }
        if askers.count >= Self.askedTopicsMax {
            askers.removeAll()
            return engine.devicesAskingLive
        }
        return askers.removeValue(forKey: topic)?.filter { engine.asksLive($0) }.sorted() ?? []
    }
}

extension ByteKeyed {
    fileprivate subscript(key: String, or initial: Value) -> Value {
        get { self[key] ?? initial }
        _modify {
            var value = removeValue(forKey: key) ?? initial
            yield &value
            self[key] = value
        }
    }
}

extension CircumstanceRecord {
    func rule(_ expression: CircumstanceExpression) -> CircumstanceRule {
        CircumstanceRule(
            expression, trigger: trigger, owner: owner, devices: devices, nearRadius: nearRadius, exitMargin: exitMargin)
    }
}

extension CircumstanceExpression {
    /// Reads an expression with the error a reply gives.
    init(checking text: String, field: String = "expression") throws(WireError) {
        do throws(CircumstanceError) {
            try self.init(text)
        } catch {
            throw WireError(.invalid, error.message, field: field, position: error.position)
        }
    }
}
