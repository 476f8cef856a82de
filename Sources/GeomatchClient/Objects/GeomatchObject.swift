/// What the daemon said of something, with all its members, those that this library has no word for, too.
///
/// Only the types of this library conform.
public protocol GeomatchAnswer: Sendable, CustomStringConvertible {
    /// Everything the daemon said of it.
    var members: [String: PropertyValue] { get }
}

extension GeomatchAnswer {
    /// The name of the type and the members as JSON, keys in order: `GeoDevice {"deviceType":"PinDevice","id":"door",…}`.
    ///
    /// Positions and tokens are among them: it is for looking at, not for a log that others read.
    public var description: String { "\(Self.self) \(PropertyValue.object(members))" }
}

/// An object that is kept by the daemon: ``GeoDevice``, ``GeoPublication``, ``GeoSubscription``, ``GeoGeofence``.
public protocol GeomatchObject: GeomatchAnswer {
    /// What it is made from.
    associatedtype Draft: GeomatchParameters
    /// What of it can be changed.
    associatedtype Changes: GeomatchParameters

    /// The first part of its requests' names.
    static var resource: String { get }
    var id: String { get }
    /// Changes with each edit: `N-hash`. Given to an update, it makes that fail with `conflict` where somebody was quicker.
    var revision: String? { get }
    init(members: [String: PropertyValue]) throws(GeomatchError)
}

/// What goes out with a request, by the names of the daemon's contract.
public protocol GeomatchParameters: Sendable {
    var parameters: [String: PropertyValue] { get }
}

/// One page of a list.
public struct GeomatchPage<Object: Sendable>: Sendable {
    public var objects: [Object]
    /// What the next page begins `after`; nil on the last.
    public var next: String?
}
