import Push

/// Which push services are to be set up, as the file says it; their keys are read at the start.
struct PushSettings: Equatable, Sendable {
    struct APNs: Equatable, Sendable {
        var teamID: String
        var keyID: String
        var keyFile: String
        var topic: String
        var isSandbox = false
        var url: String?
    }

    struct FCM: Equatable, Sendable {
        var serviceAccountFile: String
        var url: String?
        var tokenURL: String?
    }

    struct Web: Equatable, Sendable {
        var subject: String
        var keyFile: String
    }

    var apns: APNs?
    var fcm: FCM?
    var web: Web?
    var caFile: String?

    /// Reads the keys; makes the one of `push.web` where it is missing.
    func configuration() throws(PushConfigurationError) -> PushConfiguration {
        var configuration = try PushConfiguration(caFile: caFile)
        if let apns {
            configuration.apns = try PushConfiguration.APNs(
                teamID: apns.teamID, keyID: apns.keyID, keyFile: apns.keyFile, topic: apns.topic, isSandbox: apns.isSandbox,
                url: apns.url)
        }
        if let fcm {
            configuration.fcm = try PushConfiguration.FCM(
                serviceAccountFile: fcm.serviceAccountFile, url: fcm.url, tokenURL: fcm.tokenURL)
        }
        if let web { configuration.web = try PushConfiguration.Web(subject: web.subject, keyFile: web.keyFile) }
        return configuration
    }

    /// As the file would have it.
    var lines: [String] {
        func section(_ name: String, _ values: [(String, String?)]) -> [String] {
            ["  \(name):"] + values.compactMap { key, value in value.map { "    \(key): \(Settings.quoted($0))" } }
        }
        var lines: [String] = []
        if let apns {
            lines += section(
                "apns",
                [
                    ("team-id", apns.teamID), ("key-id", apns.keyID), ("key-file", apns.keyFile), ("topic", apns.topic),
                    ("environment", apns.isSandbox ? "sandbox" : "production"), ("url", apns.url),
                ])
        }
        if let fcm {
            lines += section(
                "fcm", [("service-account-file", fcm.serviceAccountFile), ("url", fcm.url), ("token-url", fcm.tokenURL)])
        }
        if let web { lines += section("web", [("subject", web.subject), ("key-file", web.keyFile)]) }
        if let caFile { lines.append("  ca-file: \(Settings.quoted(caFile))") }
        return lines.isEmpty ? ["push:  # no service is set up"] : ["push:"] + lines
    }
}

extension SettingsKey {
    static let push: [SettingsKey] = [
        SettingsKey("push.apns.team-id", "Apple's name of your team: 10 letters and digits", fileOnly: true),
        SettingsKey("push.apns.key-id", "Apple's name of the key: 10 letters and digits", fileOnly: true),
        SettingsKey("push.apns.key-file", "the key as Apple hands it out, AuthKey_….p8", fileOnly: true),
        SettingsKey("push.apns.topic", "the bundle id of the app", fileOnly: true),
        SettingsKey("push.apns.environment", "production or sandbox", fileOnly: true),
        SettingsKey("push.apns.url", "https://HOST[:PORT] instead of Apple's", fileOnly: true),
        SettingsKey("push.fcm.service-account-file", "a service account as Google hands it out, JSON", fileOnly: true),
        SettingsKey("push.fcm.url", "http[s]://HOST[:PORT] instead of Google's", fileOnly: true),
        SettingsKey("push.fcm.token-url", "http[s]://HOST[:PORT]/PATH instead of the one in the service account", fileOnly: true),
        SettingsKey("push.web.subject", "mailto:ADDRESS or https://…, where push services reach you", fileOnly: true),
        SettingsKey("push.web.key-file", "a private key of P-256, made where it is missing", fileOnly: true),
        SettingsKey("push.ca-file", "a PEM file", fileOnly: true),
    ]
}

extension SettingsReader {
    func readPush(_ settings: Settings) throws(SettingsError) -> PushSettings {
        var push = PushSettings()
        push.apns = try readAPNs()
        push.fcm = try readFCM()
        push.web = try readWeb(settings)
        push.caFile = try value("push.ca-file", parse: Self.word)
        return push
    }

    private func readAPNs() throws(SettingsError) -> PushSettings.APNs? {
        let values = try words(["team-id", "key-id", "key-file", "topic"], of: "push.apns")
        let isSandbox = try value("push.apns.environment") { ["production": false, "sandbox": true][$0] }
        let url = try value("push.apns.url") { Self.url($0, schemes: ["https"]) }
        guard let values else {
            try refuse(["push.apns.environment", "push.apns.url"], without: "push.apns.team-id")
            return nil
        }
        return PushSettings.APNs(
            teamID: values[0], keyID: values[1], keyFile: values[2], topic: values[3], isSandbox: isSandbox ?? false, url: url)
    }

    private func readFCM() throws(SettingsError) -> PushSettings.FCM? {
        let values = try words(["service-account-file"], of: "push.fcm")
        let url = try value("push.fcm.url") { Self.url($0, schemes: ["http", "https"]) }
        let tokenURL = try value("push.fcm.token-url") { Self.url($0, schemes: ["http", "https"]) }
        guard let values else {
            try refuse(["push.fcm.url", "push.fcm.token-url"], without: "push.fcm.service-account-file")
            return nil
        }
        return PushSettings.FCM(serviceAccountFile: values[0], url: url, tokenURL: tokenURL)
    }

    private func readWeb(_ settings: Settings) throws(SettingsError) -> PushSettings.Web? {
        let subject = try value("push.web.subject") { text in
            (text.hasPrefix("mailto:") || text.hasPrefix("https://")) && text.utf8.count <= 500 ? text : nil
        }
        let keyFile = try value("push.web.key-file", parse: Self.word)
        guard let subject else {
            try refuse(["push.web.key-file"], without: "push.web.subject")
            return nil
        }
        return PushSettings.Web(subject: subject, keyFile: keyFile ?? "\(settings.dataDirectory)/web-push-key.pem")
    }

    /// The values of keys of which none may be missing where one is there.
    private func words(_ keys: [String], of section: String) throws(SettingsError) -> [String]? {
        let keys = keys.map { "\(section).\($0)" }
        var values: [String] = []
        var missing: String?
        for key in keys {
            if let value = try value(key, parse: Self.word) { values.append(value) } else { missing = missing ?? key }
        }
        if values.isEmpty { return nil }
        if let missing { try refuse(keys, without: missing) }
        return values
    }

    /// A key is missing where others are given: said of the source that gives one of these.
    private func refuse(_ given: [String], without missing: String) throws(SettingsError) {
        guard let source = given.lazy.compactMap({ raw($0)?.source }).first else { return }
        throw SettingsError(key: missing, source: source, problem: "is missing: \(SettingsKey.takes(missing))")
    }

    /// It is used in a header, a token or a path.
    private static func word(_ text: String) -> String? {
        text.isEmpty || text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) ? nil : text
    }

    private static func url(_ text: String, schemes: [String]) -> String? {
        guard let scheme = schemes.first(where: { text.hasPrefix("\($0)://") }), text.utf8.count > scheme.utf8.count + 3,
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        return text
    }
}

extension SettingsKey {
    /// What a key takes.
    fileprivate static func takes(_ name: String) -> String { all.first { $0.name == name }?.takes ?? "" }
}
