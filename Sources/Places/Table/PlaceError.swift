/// Why a place was not put into a table. Nothing was changed.
public enum PlaceError: Error, Equatable, Sendable {
    /// The text of a field is empty or longer than so many bytes.
    case length(field: String, bytes: Int, limit: Int)
    /// More than so many entries in a list.
    case tooMany(field: String, count: Int, limit: Int)
    /// The rank is not a finite number.
    case placerank
    /// The geometry is not one that ``PlaceGeometry`` lets through.
    case geometry
    /// The table holds as many places as it may.
    case full(limit: Int)

    /// The property it is about; nil: the table itself.
    public var field: String? {
        switch self {
        case .length(let field, _, _), .tooMany(let field, _, _): field
        case .placerank: "placerank"
        case .geometry: "geometry"
        case .full: nil
        }
    }

    /// The rule that was broken, as the rest of a sentence about the field.
    public var message: String {
        switch self {
        case .length(_, let bytes, let limit): "must be 1 to \(limit) bytes, not \(bytes)"
        case .tooMany(_, let count, let limit): "must have at most \(limit) entries, not \(count)"
        case .placerank: "must be a finite number"
        case .geometry:
            "must be a position on the earth, or 1 to \(PlaceGeometry.polygonsMax) polygons of at most "
                + "\(PlaceGeometry.verticesMax) vertices"
        case .full(let limit): "there are \(limit) places, which is the maximum"
        }
    }
}
