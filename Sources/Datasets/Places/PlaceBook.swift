import OpeningHours
import Places
import Records

/// The places of one dataset, their categories and hours, and what devices were told of them.
final class PlaceBook {
    let table: PlaceTable
    var hours: PlaceHours
    /// How often devices said that they were at a place, where they ever did, by the hour of its week.
    private(set) var verifications = ByteKeyed<[Int: Int]>()
    /// The candidates last told of a device.
    private var told = ByteKeyed<ToldCandidates>()
    /// The devices of `told`, the one told first at the front; one that was told again stands further back, too.
    private var toldOrder: [(device: String, number: Int)] = []
    private var toldCount = 0

    private struct ToldCandidates {
        var number: Int
        var placeIDs: [String]
        /// Which of them the device said to be at.
        var verified: Set<Int> = []
    }

    /// Devices whose candidates are remembered, the newest.
    static let toldMax = 10_000

    init(limit: Int, timeZone: String) {
        table = PlaceTable(limit: limit)
        hours = PlaceHours(timeZone: timeZone)
    }

    // MARK: Hours

    /// What is known of a place's hours; nil where it has none.
    func reading(of handle: PlaceTable.Handle) -> PlaceHours.Reading? {
        guard let number = table.scheduleNumber(of: handle), let schedule = table.schedule(number),
            schedule.openingHours != nil
        else { return nil }
        return hours.reading(number, of: schedule)
    }

    /// Its own time zone, else that of the dataset.
    func zone(of handle: PlaceTable.Handle) -> Zone {
        guard let number = table.scheduleNumber(of: handle), let schedule = table.schedule(number) else {
            return hours.defaultZone
        }
        return hours.reading(number, of: schedule).zone
    }

    /// Whether a place is open; nil: nobody knows.
    func isOpen(_ handle: PlaceTable.Handle, at instant: Int64) -> Bool? {
        guard let reading = reading(of: handle), let hours = reading.hours else { return nil }
        let point = table.point(of: handle)
        switch hours.state(at: instant, in: reading.context(latitude: point.latitude, longitude: point.longitude)) {
        case .open: return true
        case .closed: return false
        case .unknown: return nil
        }
    }

    // MARK: Verifications

    func setVerifications(of placeID: String, to hours: [Int: Int]) { verifications[placeID] = hours.isEmpty ? nil : hours }

    func setVerifications(of placeID: String, in hour: Int, to count: Int) {
        var hours = verifications[placeID] ?? [:]
        hours[hour] = count > 0 ? count : nil
        setVerifications(of: placeID, to: hours)
    }

    /// 0…167: the hour of the week at a place, from Monday 00:00 on.
    func hourOfWeek(at handle: PlaceTable.Handle, _ instant: Int64) -> Int {
        let time = zone(of: handle).local(at: instant)
        return time.weekday * 24 + time.minute / 60
    }

    /// What is known of a place besides where it is.
    func evidence(of handle: PlaceTable.Handle, at instant: Int64) -> PlaceEvidence {
        var evidence = PlaceEvidence(isOpen: isOpen(handle, at: instant))
        guard !verifications.isEmpty, let hours = verifications[table.id(handle)] else { return evidence }
        evidence.verifications = Double(hours.values.reduce(0, +))
        let hour = hourOfWeek(at: handle, instant)
        for near in [hour + 167, hour, hour + 1] { evidence.verificationsAtThisHour += Double(hours[near % 168] ?? 0) }
        return evidence
    }

    /// Remembers which candidates a device was told.
    func tell(_ placeIDs: [String], to device: String) {
        toldCount += 1
        told[device] = ToldCandidates(number: toldCount, placeIDs: placeIDs)
        toldOrder.append((device, toldCount))
        guard toldOrder.count > 2 * Self.toldMax else { return }
        toldOrder.removeAll { told[$0.device]?.number != $0.number }
        for (device, _) in toldOrder.dropLast(Self.toldMax) { told[device] = nil }
        toldOrder.removeFirst(max(0, toldOrder.count - Self.toldMax))
    }

    /// Notes that a device says to be at a place.
    ///
    /// - Returns: Whether it says so for the first time of these candidates; nil where the place is none of them.
    func verify(_ placeID: String, of device: String) -> Bool? {
        guard let known = told[device], let index = known.placeIDs.firstIndex(where: { $0.hasSameBytes(as: placeID) }) else {
            return nil
        }
        return told[device]?.verified.insert(index).inserted
    }

    /// What devices said did not become durable: they may say it again.
    func forgetVerified() {
        for device in told.keys { told[device]?.verified.removeAll() }
    }

    /// What a device was told is nobody's business any more.
    func forget(_ device: String) { told[device] = nil }
}
