import MQTTLink

/// Where the configuration of one start comes from; it can be read again.
struct SettingsSources: Sendable {
    /// Key to value, of the flags that were given.
    var flags: [String: String]
    var environment: [String: String]
    /// Of the file, if there is one.
    var path: String?
    private let isForAccessList: Bool
    private var leftOutOfFile: Set<String> = []

    init(flags: [String: String], environment: [String: String], path: String?, isForAccessList: Bool = false) {
        (self.flags, self.environment, self.path, self.isForAccessList) = (flags, environment, path, isForAccessList)
    }

    func settings() throws(SettingsError) -> Settings {
        var file: ConfigurationFile?
        if let path { file = try ConfigurationFile(path: path, leavingOut: leftOutOfFile) }
        return try SettingsReader(flags: flags, environment: environment, file: file, isForAccessList: isForAccessList)
            .settings()
    }

    /// What else is wrong, for somebody who mends all of it at once.
    ///
    /// Each mistake is left out to find the next one, and then those in the files that the rest names. What is wrong only beside
    /// other keys is found when these are right.
    ///
    /// - Returns: The first one, and those that were found.
    func mistakes(after first: SettingsError) -> [String] {
        var sources = self
        var found: [SettingsError] = []
        var next: SettingsError? = first
        var settings: Settings?
        while let mistake = next, !found.contains(mistake), mistake.isAlone || found.isEmpty {
            found.append(mistake)
            next = nil
            guard mistake.isAlone else { break }
            sources.leaveOut(mistake)
            do throws(SettingsError) { settings = try sources.settings() } catch { next = error }
        }
        // Without its broker the embedded one would be meant, whose files may be left over.
        if found.contains(where: { $0.key == "broker" }) { settings?.broker = try? MQTTEndpoint(url: "mqtt://localhost") }
        return found.map(\.description) + (settings?.mistakesInFiles ?? [])
    }

    private mutating func leaveOut(_ mistake: SettingsError) {
        switch mistake.source {
        case .flag: flags[mistake.key] = nil
        case .environment: environment[SettingsKey.environmentName(mistake.key)] = nil
        case .variable(let name): environment[name] = nil
        // Of a list of entries all go.
        case .file: leftOutOfFile.insert(String(mistake.key.prefix { $0 != "[" }))
        case .together: break
        }
    }
}
