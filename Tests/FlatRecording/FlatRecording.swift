import Foundation
import Ranging

/// The recording of one tag in a flat, and what is true of it.
public struct FlatRecording: Sendable {
    public struct Row: Sendable {
        /// Milliseconds since 1970 UTC.
        public var at: Int64
        public var place: LocalPlane.Point
        /// dBm, by receiver; nil: it heard nothing.
        public var levels: [Double?]
    }

    /// Where the receivers hang.
    public var receivers: [LocalPlane.Point]
    /// A long drive, to calibrate with.
    public var calibration: [Row]
    /// Another drive, to measure on.
    public var drive: [Row]
    /// The corners of the outline of the flat, in order.
    private var outline: [LocalPlane.Point]

    public init() throws {
        receivers = try Self.rows("anchors").map { LocalPlane.Point(x: $0[1] ?? 0, y: $0[2] ?? 0) }
        calibration = try Self.drive("calibration")
        drive = try Self.drive("robot_test")
        outline = try Self.rows("layout").map { LocalPlane.Point(x: $0[0] ?? 0, y: $0[1] ?? 0) }
    }

    private static func drive(_ name: String) throws -> [Row] {
        try rows(name).map { row in
            Row(
                at: Int64(((row[0] ?? 0) * 1000).rounded()), place: LocalPlane.Point(x: row[1] ?? 0, y: row[2] ?? 0),
                levels: Array(row[3...]))
        }
    }

    private static func rows(_ name: String) throws -> [[Double?]] {
        let text = try String(contentsOf: folder.appendingPathComponent("\(name).csv"), encoding: .utf8)
        return text.split(whereSeparator: \.isNewline).dropFirst().map { line in
            line.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) }
        }
    }

    private static var folder: URL {
        Bundle.module.url(forResource: "Data", withExtension: nil) ?? URL(fileURLWithPath: "Data")
    }

    /// A tag that lies still: what was heard near a place of the same room, drawn at random, three times a second.
    public func stillTag(at place: LocalPlane.Point, seconds: Int, using random: inout some RandomNumberGenerator) -> [Row] {
        let room = Self.room(at: place)
        let near = calibration.filter { Self.room(at: $0.place) == room }.sorted {
            $0.place.distance(to: place) < $1.place.distance(to: place)
        }.prefix(30)
        return (0..<seconds * 3).compactMap { step in
            guard var row = near.randomElement(using: &random) else { return nil }
            row.at = 1_700_000_000_000 + Int64(step) * 1000 / 3
            row.place = place
            return row
        }
    }

    /// The rooms, as the walls part them.
    public enum Room: Int, Sendable, CaseIterable {
        case bedroom
        case hall
        case bathroom
        case livingRoom
    }

    public static func room(at place: LocalPlane.Point) -> Room {
        if place.x < 2.64, place.y > 2.12 { return .bedroom }
        if place.x > 3.97, place.y < 2.02 { return .bathroom }
        return place.y < 2.07 ? .hall : .livingRoom
    }

    /// What outlines of the flat and of its rooms say of a place.
    public func ground(at place: LocalPlane.Point) -> PositionFilter.Ground {
        var isInside = false
        for (from, to) in zip(outline, outline.dropFirst() + outline.prefix(1)) where (from.y > place.y) != (to.y > place.y) {
            if place.x < from.x + (to.x - from.x) * (place.y - from.y) / (to.y - from.y) { isInside.toggle() }
        }
        return isInside ? .room(Self.room(at: place).rawValue) : .outside
    }

    /// Whether the next room is less than 0.4 m away.
    public static func isBesideWall(_ place: LocalPlane.Point) -> Bool {
        [(0.4, 0.0), (-0.4, 0), (0, 0.4), (0, -0.4)].contains {
            room(at: LocalPlane.Point(x: place.x + $0.0, y: place.y + $0.1)) != room(at: place)
        }
    }

    /// The room of each receiver.
    public var rooms: [Room] { receivers.map(Self.room) }

    /// What a drive, the one for calibrating where none is given, says of each receiver.
    ///
    /// - Parameter mapped: The drive is kept as a radio map, too, where that is better.
    public func settings(from drive: [Row]? = nil, mapped: Bool = false) -> [RangingSettings] {
        receivers.enumerated().map { number, receiver in
            let samples = (drive ?? calibration).compactMap { row in
                row.levels[number].map {
                    Calibration.Sample(
                        distance: row.place.distance(to: receiver), rssi: $0,
                        place: LocalPlane.Point(x: row.place.x - receiver.x, y: row.place.y - receiver.y))
                }
            }
            guard let fit = Calibration.fit(samples, at: mapped ? (0, 0) : nil) else { return .standard }
            return RangingSettings(n: fit.n, rssiOffset: fit.rssiOffset, map: fit.map)
        }
    }
}
