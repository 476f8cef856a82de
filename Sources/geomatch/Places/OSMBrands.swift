import Foundation

/// Which Wikidata item belongs to which brand, as the places of one import name it.
///
/// Many a place names its brand and not the item: it belongs to the same chain as those that name both, where all of these name the
/// same item. Names are compared without case, accents, spaces and punctuation: `Mc Donald’s` is `McDonald's`.
struct OSMBrands {
    /// nil: several items have this name.
    private var items: [String: String?] = [:]

    /// Names that are remembered: more brands than there are.
    private static let namesMax = 500_000

    mutating func learn(_ name: String, item: String) {
        let name = Self.normalised(name)
        switch items[name] {
        case nil: if items.count < Self.namesMax { items[name] = .some(item) }
        case .some(let known?) where known != item: items[name] = .some(nil)
        default: break
        }
    }

    /// The only item of this name that is known; nil: none is, or several are.
    func item(of name: String) -> String? { items[Self.normalised(name)] ?? nil }

    static func normalised(_ name: String) -> String {
        let folded = name.decomposedStringWithCompatibilityMapping.lowercased().unicodeScalars.filter {
            $0.properties.isAlphabetic || $0.properties.numericType != nil
        }
        return folded.isEmpty ? name : String(String.UnicodeScalarView(folded))
    }
}
