import Datasets
import LiveTopics
import Wire

// /v5/devices/{deviceId}/locations and …/proximityEvents: live updates of the device.

extension MatchmoreExchange {
    func createLocation(of device: String) async throws -> HTTPAnswer {
        let location = try await body().location()
        let now = try await update(device, "position", location.value)
        return created(location.answer(at: now))
    }

    func createProximityEvent(of device: String) async throws -> HTTPAnswer {
        let body = try await body()
        let beaconDevice = try body.required("deviceId", try body.text("deviceId"))
        let distance = try body.required("distance", try body.number("distance"))
        let world = caller.world
        guard let beacon = await door.onCore({ $0.core.hub.beacon(ofDevice: beaconDevice, of: world) }) ?? nil else {
            throw WireError(.notFound, "there is no beacon `\(beaconDevice.prefix(128))`", field: "deviceId")
        }
        let now = try await update(
            device, "proximity",
            [
                "proximityUUID": .string(beacon.proximityUUID), "major": .integer(Int64(beacon.major)),
                "minor": .integer(Int64(beacon.minor)), "distance": .double(distance),
            ])
        return created(
            [
                "id": .string(RandomID.uuid()), "createdAt": .integer(now), "deviceId": .string(beaconDevice),
                "distance": .double(distance),
            ])
    }

    /// Publishes a live update of a device that the caller may move.
    ///
    /// - Returns: When it was, in milliseconds.
    private func update(_ device: String, _ domain: String, _ payload: JSONValue) async throws -> Int64 {
        let topic = LiveTopic(dataset: caller.world, location: device, domain: domain)
        let arrival = LiveArrival(topic: topic.encoded, payload: payload.serialised())
        guard let answer = await door.update(caller.world, by: caller.client, [arrival], of: device)?.first else {
            throw HTTPRefusal.unavailable("the dataset takes nothing in at present: send it again")
        }
        if case .refused(let error) = answer { throw error }
        return door.core.clock.now()
    }

    /// What is known of a device that the caller may have.
    func summary(of device: String) async throws -> DeviceSummary {
        let caller = caller
        for _ in 0..<Self.triesMax {
            let result = await door.onCore { door in
                Result { () throws(WireError) in
                    try door.core.hub.summary(
                        ofDevice: device, of: caller.world, for: caller.client, at: door.core.clock.now())
                }
            }
            guard let result else { break }
            if let summary = try result.get() { return summary }
            try await Task.sleep(for: .milliseconds(100))
        }
        throw Self.unanswered
    }

    /// So often a dataset is asked that takes nothing in, for ten seconds.
    private static let triesMax = 100
}

/// Ids of what is not kept.
enum RandomID {
    private static let hexDigits = Array("0123456789abcdef".utf8)

    /// A version 4 UUID (RFC 9562).
    static func uuid() -> String {
        var bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = bytes.flatMap { [hexDigits[Int($0 >> 4)], hexDigits[Int($0 & 15)]] }
        var text = ""
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { text.append("-") }
            text.unicodeScalars.append(Unicode.Scalar(digit))
        }
        return text
    }
}
