import Records
import Wire

/// What a push says of a match or an event: never where anybody is.
struct PushMessage {
    /// What it names, in order.
    var members: [(key: String, value: String)]
    var notification: NotificationTemplate?

    /// `{"matchId","deviceId","subscriptionId","topic","event","notification"?}`
    init(
        _ message: MatchMessage, _ publication: PublicationRecord, _ subscription: SubscriptionRecord, device: DeviceRecord
    ) {
        members = [
            ("matchId", message.id), ("deviceId", subscription.deviceId), ("subscriptionId", subscription.id),
            ("topic", publication.topic), ("event", message.event.word),
        ]
        notification = NotificationTemplate(stored: subscription.notification)?.filled(
            with: NotificationTemplate.Values(
                properties: (try? JSONValue.parse(publication.properties))?.asObject, distance: message.distance,
                topic: publication.topic, device: device.title))
    }

    /// Of what a circumstance or a geofence notices about a device.
    init(_ members: [(key: String, value: String)], _ notification: String?, device: DeviceRecord) {
        self.members = members
        self.notification = NotificationTemplate(stored: notification)?.filled(
            with: NotificationTemplate.Values(device: device.title))
    }

    func encoded() -> String {
        String(
            decoding: JSONWriter.object { writer in
                for member in members { writer.member(member.key, member.value) }
                guard let notification else { return }
                writer.key("notification")
                writer.beginObject()
                writer.member("title", optional: notification.title)
                writer.member("body", optional: notification.body)
                writer.endObject()
            }, as: UTF8.self)
    }

    /// The device that an encoded message is about.
    static func device(of encoded: String) -> String? { (try? JSONValue.parse(encoded))?.asObject?["deviceId"]?.asString }
}

extension DeviceRecord {
    /// Its name, or its id.
    fileprivate var title: String { name.isEmpty ? id : name }
}
