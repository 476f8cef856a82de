import LiveTopics
import Ranging
import Wire
import Records

// beacon/list, and what device/create and device/update say of beacons.

extension Beacons {
    /// Every beacon of the dataset, in the order of their devices' ids: a client that sees one may know whose it is.
    func list(_ call: Call) throws(WireError) -> any Search {
        let page = try Page(call.parameters)
        return DeviceSearch(
            page, of: devices, isWanted: { $0.record.beacon != nil },
            encode: { found, isCut in
                page.encode("beacons", found, id: \.record.id, isCut: isCut) { device in
                    guard let beacon = device.record.beacon else { return nil }
                    return JSONWriter.object { writer in
                        writer.member("deviceId", device.record.id)
                        beacon.encodeMembers(into: &writer)
                    }
                }
            })
    }

    /// Changes what a device carries and how it ranges, where the request names it.
    func changeMembers(of record: inout DeviceRecord, _ call: Call) throws(WireError) {
        if call.parameters.has("carries") { record.carries = try carried(by: record, call) }
        if call.parameters.isNull("ranging") {
            record.ranging = nil
        } else if let ranging = try call.parameters.optionalNested("ranging") {
            if record.type == .beacon { throw call.parameters.error("ranging", "is for who sees beacons, not for a beacon") }
            record.ranging = try ranging.ranging(record.ranging ?? .standard)
        }
        if call.parameters.isNull("orientation") {
            record.orientation = nil
        } else if let turned = try call.parameters.optionalNested("orientation") {
            if record.type == .beacon { throw call.parameters.error("orientation", "is for who sees beacons, not for a beacon") }
            var orientation = record.orientation ?? .standard
            if turned.has("heading") { orientation.heading = try turned.optionalNumber("heading", in: Orientation.headings) ?? 0 }
            if turned.has("tilt") { orientation.tilt = try turned.optionalNumber("tilt", in: Orientation.tilts) ?? 0 }
            record.orientation = orientation
        }
    }

    /// The identity of a beacon that is to be registered, which no other device has.
    func identity(_ parameters: Parameters) throws(WireError) -> BeaconIdentity {
        let identity = try parameters.beaconIdentity()
        if let holder = identity.key.flatMap({ holders[$0] }) {
            throw WireError(
                .conflict, "the device `\(holder)` has the beacon \(identity.proximityUUID) \(identity.major) \(identity.minor)",
                field: "proximityUUID")
        }
        return identity
    }

    private func carried(by record: DeviceRecord, _ call: Call) throws(WireError) -> BeaconIdentity? {
        guard let nested = try call.parameters.optionalNested("carries") else { return nil }
        guard record.type == .mobile else {
            throw call.parameters.error("carries", "is for a MobileDevice: neither a pin nor a beacon is carried about")
        }
        let identity = try nested.beaconIdentity()
        if let holder = identity.key.flatMap({ carriers[$0] }), !holder.hasSameBytes(as: record.id) {
            throw WireError(.conflict, "the beacon is carried by the device `\(holder)`", field: "carries")
        }
        return identity
    }
}

extension Parameters {
    /// A document about a beacon as mobile applications keep it: `{"type":"gbeacon","proximityID","major","minor"}`.
    var isBeaconDocument: Bool { !has("deviceType") && value("type") == .string("gbeacon") }

    /// The UUID under any of its names, canonical.
    func proximityUUID() throws(WireError) -> String {
        let key = ["proximityUUID", "proximityID", "uuid"].first { value($0) != nil } ?? "proximityUUID"
        let text = try string(key)
        guard let uuid = UUIDText.canonical(text) else { throw error(key, "must be a UUID", not: .string(text)) }
        return uuid
    }

    /// `{n?,rssiOffset?,filter?,map?}`: what is not named stays.
    fileprivate func ranging(_ former: RangingSettings) throws(WireError) -> RangingSettings {
        var settings = former
        if has("n") { settings.n = try optionalNumber("n", in: RangingSettings.exponents) ?? RangingSettings.standard.n }
        if has("rssiOffset") {
            settings.rssiOffset = try optionalNumber("rssiOffset", in: RangingSettings.offsets, unit: "dB") ?? 0
        }
        if has("filter") {
            let filter: RangingSettings.Filter? = try optionalChoice("filter")
            settings.filter = filter ?? .trimmedMean
        }
        if has("map") {
            settings.map = try optionalString("map", bytes: 0...16_384).map { text throws(WireError) in
                guard let map = RadioMap(text) else {
                    throw error("map", "must be a map as `geomatch beacons calibrate` makes it")
                }
                return map
            }
        }
        return settings
    }
}
