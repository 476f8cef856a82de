import Selectors
import Wire

extension Selector {
    /// Compiles with the error a reply gives.
    convenience init(checking text: String, field: String = "selector") throws(WireError) {
        do throws(SelectorError) {
            try self.init(text)
        } catch {
            throw WireError(.invalid, error.message, field: field, position: error.position)
        }
    }
}
