import Circumstances
import Records
import Wire

/// A circumstance that is registered.
final class Circumstance {
    var record: CircumstanceRecord
    let expression: CircumstanceExpression
    let reference: CircumstanceRef
    /// Where its events go beside its topic.
    let pushers: [Pusher]

    init(
        _ record: CircumstanceRecord, _ expression: CircumstanceExpression, _ pushers: [Pusher], reference: CircumstanceRef
    ) {
        self.record = record
        self.pushers = pushers
        self.expression = expression
        self.reference = reference
    }
}

extension CircumstanceRecord {
    /// Of its events.
    var recipient: Recipient { Recipient(dataset, owner, .circumstance, id) }

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
