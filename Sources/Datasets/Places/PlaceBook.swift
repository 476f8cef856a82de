import OpeningHours
import Places
import Records
import Wire

/// The places of one dataset, their categories and hours, and which candidates were sent of devices.
final class PlaceBook {
    let table: PlaceTable
    /// How many places may be made; what the store gave back is not refused.
    private let limit: Int
    var hours: PlaceHours
    /// How often devices said that they were at a place, where they ever did, by the hour of its week.
    private(set) var verifications = ByteKeyed<[Int: Int]>()
    /// The candidates last sent of a device.
    private var sent = ByteKeyed<SentCandidates>()
    /// The devices of `sent`, the oldest first; one of which candidates were sent again is further back, too.
    private var sentOrder: [(device: String, number: Int)] = []
    private var sentCount = 0
    /// Categories that the store gave back, until all are there.
    private var restoredCategories: [Category] = []

    private struct SentCandidates {
        var number: Int
        var placeIDs: [String]
        /// Which of them the device said to be at.
        var verified: Set<Int> = []
    }

    /// Devices whose candidates are remembered, the newest.
    static let sentMax = 10_000

    init(limit: Int, timeZone: String) {
        self.limit = limit
        table = PlaceTable(limit: .max)
        hours = PlaceHours(timeZone: timeZone)
    }

    /// Removes a place with its verifications.
    func remove(_ id: String) {
        table.remove(id)
        setVerifications(of: id, to: [:])
    }

    /// - Throws: `limit` where one place more is too many.
    func checkRoom() throws(WireError) {
        guard table.count < limit else { throw WireError(PlaceError.full(limit: limit)) }
    }

    /// A place was given back.
    ///
    /// - Throws: Where it is not what this program wrote.
    func restore(_ place: Place) throws(WireError) {
        do throws(PlaceError) {
            try table.upsert(place)
        } catch {
            throw WireError(error)
        }
    }

    /// A category was given back: see ``declareRestored()``.
    func restore(_ category: Category) { restoredCategories.append(category) }

    /// Declares what was given back, all at once: a tree is numbered anew with each declaration.
    func declareRestored() {
        guard !restoredCategories.isEmpty else { return }
        _ = try? table.declare(restoredCategories)
        restoredCategories = []
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

    /// Remembers which candidates were sent of a device.
    func noteCandidates(_ placeIDs: [String], of device: String) {
        sentCount += 1
        sent[device] = SentCandidates(number: sentCount, placeIDs: placeIDs)
        sentOrder.append((device, sentCount))
        guard sentOrder.count > 2 * Self.sentMax else { return }
        sentOrder.removeAll { sent[$0.device]?.number != $0.number }
        for (device, _) in sentOrder.dropLast(Self.sentMax) { sent[device] = nil }
        sentOrder.removeFirst(max(0, sentOrder.count - Self.sentMax))
    }

    /// Notes that a device says to be at a place.
    ///
    /// - Returns: Whether it says so for the first time of these candidates; nil where the place is none of them.
    func verify(_ placeID: String, of device: String) -> Bool? {
        guard let known = sent[device], let index = known.placeIDs.firstIndex(where: { $0.hasSameBytes(as: placeID) }) else {
            return nil
        }
        return sent[device]?.verified.insert(index).inserted
    }

    /// What devices said did not become durable: they may say it again.
    func forgetVerified() {
        for device in sent.keys { sent[device]?.verified.removeAll() }
    }

    /// Which candidates were sent of a device is erased.
    func forget(_ device: String) { sent[device] = nil }
}
