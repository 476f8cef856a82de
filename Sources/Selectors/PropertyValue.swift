/// A value of a publication's property.
///
/// The elements of an array are scalars; an array within an array is kept, and compares false with everything.
public enum PropertyValue: Sendable {
    case boolean(Bool)
    case integer(Int64)
    case double(Double)
    case string(String)
    case array([PropertyValue])
}

extension PropertyValue: Equatable {
    /// Whether both are of the same case and content.
    ///
    /// Strings are equal when their Unicode scalars are: the precomposed and the decomposed `é` differ, as they do in a
    /// selector. `integer(1)` and `double(1)` are different values, although a selector finds them equal.
    public static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.boolean(let left), .boolean(let right)): left == right
        case (.integer(let left), .integer(let right)): left == right
        case (.double(let left), .double(let right)): left == right
        case (.string(let left), .string(let right)): left.utf8.elementsEqual(right.utf8)
        case (.array(let left), .array(let right)): left == right
        default: false
        }
    }
}
