import Datasets

/// A maximum that the configuration can set: its key, what is allowed, and where the hub has it.
struct SettingsLimit: Sendable {
    let key: String
    let allowed: ClosedRange<Int>
    let unit: String?
    let path: any WritableKeyPath<HubLimits, Int> & Sendable

    private init(
        _ name: String, _ allowed: ClosedRange<Int>, unit: String? = nil, _ path: any WritableKeyPath<HubLimits, Int> & Sendable
    ) {
        key = Self.section + "." + name
        self.allowed = allowed
        self.unit = unit
        self.path = path
    }

    static let section = "limits"

    /// The key below ``section``.
    var name: Substring { key.dropFirst(Self.section.count + 1) }

    /// What is allowed, for the error about any other value.
    var takes: String {
        "\(allowed.lowerBound) to \(allowed.upperBound)" + (unit.map { " \($0)" } ?? "")
    }

    /// In the order in which the configuration is printed.
    static let all: [SettingsLimit] = [
        SettingsLimit("datasets", 1...1_000_000, \.datasets),
        SettingsLimit("live-topics", 1...100_000_000, \.liveTopics),
        SettingsLimit("live-bytes", 65_536...1_099_511_627_776, unit: "bytes", \.liveBytes),
        SettingsLimit("client-share", 1...100, unit: "percent", \.clientShare),
        SettingsLimit("devices", 1...100_000_000, \.devices),
        SettingsLimit("attachments-per-device", 1...100_000, \.attachmentsPerDevice),
        SettingsLimit("places", 1...50_000_000, \.places),
        SettingsLimit("categories", 1...1_000_000, \.categories),
        SettingsLimit("circumstances", 1...1_000_000, \.circumstances),
        SettingsLimit("geofences", 1...1_000_000, \.geofences),
        SettingsLimit("structure-objects", 1...10_000_000, \.structureObjects),
        SettingsLimit("occupancy-silence", 1...86_400, unit: "seconds", \.occupancySilenceSeconds),
        SettingsLimit("remembered-replies", 0...1_000_000, \.rememberedReplies),
        SettingsLimit("live-subscriptions", 1...1_000_000, \.liveSubscriptions),
        SettingsLimit("beacons-per-observer", 1...100_000, \.beaconsPerObserver),
        SettingsLimit("beacons-in-sight", 1...100_000_000, \.beaconsInSight),
        SettingsLimit("sightings-per-second", 1...1_000_000, \.sightingsPerSecond),
        SettingsLimit("beacon-monitors", 1...100_000, \.beaconMonitors),
        SettingsLimit("documents", 1...1_000_000_000, \.documents),
        SettingsLimit("followers", 1...1_000_000, \.followers),
        SettingsLimit("pending-matches", 1...100_000_000, \.pendingMatches),
        SettingsLimit("pending-matches-per-client", 1...100_000_000, \.pendingMatchesPerClient),
        SettingsLimit("partners-per-subscription", 1...100_000_000, \.partnersPerSubscription),
        SettingsLimit("pairs", 1...1_000_000_000, \.pairs),
        SettingsLimit("inflight-matches", 1...10_000, \.inflightMatches),
    ]
}
