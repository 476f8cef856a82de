import Wire

extension Devices {
    /// What a list of devices names and nobody has yet, neither as an id nor as a group: it counts as soon as it exists.
    ///
    /// - Parameters:
    ///   - names: Those that end with `*` stand for any rest and are not looked at.
    ///   - owner: Other clients' devices are unknown to it.
    func warnings(about names: [String], of owner: String) -> [String] {
        let listed = names.filter { self[$0] == nil && $0.utf8.last != UInt8(ascii: "*") }
        // A warning is not worth a long look.
        guard !listed.isEmpty, count <= Self.lookedThroughMax else { return [] }
        var unknown = Set(listed)
        var candidates: [String] = []
        for device in all where device.record.owner == nil || device.record.owner == owner {
            for group in device.record.group { unknown.remove(group) }
            if unknown.isEmpty { return [] }
            if candidates.count < Self.candidatesMax { candidates += [device.record.id] + device.record.group }
        }
        return listed.lazy.filter(unknown.contains).prefix(Self.warningsMax).map { name in
            let near = Nearness.nearest(to: name, of: candidates).map { "; did you mean `\($0)`?" } ?? ""
            return "no device and no group `\(name)` is known yet\(near)"
        }
    }

    private static let lookedThroughMax = 10_000
    private static let candidatesMax = 200
    private static let warningsMax = 5
}
