import Foundation
import GeomatchClient

/// Lines in columns: time, what, where, item, content.
struct Table: Sendable {
    func show(_ event: LiveDataEvent) {
        switch event {
        case .received(let update):
            row(
                update.timestamp, update.hasLeft ? "left" : update.domain.rawValue, place(update.topic), update.itemID,
                update.hasLeft ? update.domain.rawValue : text(update))
        case .stateChanged(let state): row(Date(), "connection", "", "", "\(state)")
        case .subscribed(let subscription): row(Date(), "subscribed", "", "", "\(subscription.criteria)")
        case .subscriptionFailed(_, let error), .unsubscriptionFailed(_, let error), .failed(let error):
            row(Date(), "error", "", "", "\(error)")
        default: break
        }
    }

    func show(_ match: GeoMatch) {
        let distance = match.distance.map { " at \(Int($0.converted(to: .meters).value.rounded())) m" } ?? ""
        row(
            match.createdAt, "match", match.publication.topic, match.subscription.deviceID,
            "\(match.event.rawValue) \(match.publication.deviceID)\(distance) \(PropertyValue.object(match.publication.properties))"
        )
    }

    private func place(_ topic: LiveUpdateTopic) -> String {
        [topic.venue, topic.building, topic.floor, topic.room].map { $0 ?? "-" }.joined(separator: "/")
    }

    private func text(_ update: LiveUpdate) -> String {
        switch update.value {
        case .position(let position):
            "\(position.latitude), \(position.longitude)"
                + (position.speed.map { " \(Int($0.converted(to: .kilometersPerHour).value.rounded())) km/h" } ?? "")
        case .occupancy(let occupancy):
            "\(occupancy.numberOfPeople)\(occupancy.capacity.map { " of \($0)" } ?? "") people"
        case .availability(let isFree): isFree ? "free" : "taken"
        case .count(let count): "\(count)"
        case .temperature(let temperature): "\(temperature.converted(to: .celsius).value) °C"
        case .co2(let level): "\(level.value) ppm"
        case .humidity(let percent): "\(percent) %"
        case .proximity(let beacons): "\(beacons.count) beacons"
        case .custom(let properties): PropertyValue.object(properties).description
        }
    }

    private func row(_ time: Date, _ what: String, _ place: String, _ item: String, _ content: String) {
        let columns = [(Self.clock.string(from: time), 8), (what, 12), (place, 20), (item, 16)]
        let cells = columns.map { text, width in
            Self.plain(text).padding(toLength: max(width, text.count), withPad: " ", startingAt: 0)
        }
        print(cells.joined(separator: "  ") + "  " + Self.plain(content))
        fflush(nil)
    }

    /// Names come from outside: a control character must not reach the terminal.
    private static func plain(_ text: String) -> String {
        String(text.unicodeScalars.map { $0.properties.generalCategory == .control ? "\u{FFFD}" : Character($0) })
    }

    private static let clock = {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.dateFormat = "HH:mm:ss"
        return formatter
    }()
}
