/// Where webhooks may be posted to.
public struct AddressPolicy: Equatable, Sendable {
    /// Whether an endpoint may lie in the operator's own networks.
    public var allowsPrivate: Bool

    public init(allowsPrivate: Bool) { self.allowsPrivate = allowsPrivate }

    /// Why nothing may be posted to an address; nil where it may.
    public func refusal(of address: IPAddress) -> String? {
        if address.isMetadataService { return "\(address) is \(Self.metadata)" }
        let reach = address.reach
        if reach == .global || allowsPrivate && reach != .multicast { return nil }
        return "\(address) is \(reach.phrase)\(reach == .multicast ? "" : Self.way)"
    }

    /// Why nothing may be posted to a name that resolves to these addresses; nil where it may, to each of them. Names none of them: what
    /// an internal name leads to is not for the owner of a subscription to find out.
    public func refusal(of name: String, resolvedTo addresses: [IPAddress]) -> String? {
        addresses.contains { refusal(of: $0) != nil } ? refusal(of: name) : nil
    }

    /// The same for one that leads to a forbidden address.
    public func refusal(of name: String) -> String {
        "\(name) leads to where webhooks may not be posted\(allowsPrivate ? "" : " (webhooks-allow-private is false)")"
    }

    /// Why nothing may be posted to a URL, as far as that is known without a resolver; nil where it may.
    public func refusal(of url: WebhookURL) -> String? {
        switch url.host {
        case .address(let address): return refusal(of: address)
        case .name(let name):
            if Self.isMetadataService(name) { return "\(name) is \(Self.metadata)" }
            return !allowsPrivate && Self.isLocal(name) ? "\(name) is this machine\(Self.way)" : nil
        }
    }

    /// It hands out credentials to whatever asks from the machine, so no configuration allows it.
    private static let metadata = "a metadata service of a cloud, to which no webhook goes"

    private static func isMetadataService(_ name: String) -> Bool {
        metadataNames.contains(name.hasSuffix(".") ? String(name.dropLast()) : name)
    }

    /// Of Google, Amazon, Azure, Tencent, Equinix Metal and OpenStack.
    private static let metadataNames: Set<String> = [
        "metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal",
        "metadata.azure.com", "metadata.azure.internal", "metadata.tencentyun.com", "metadata.packet.net",
        "metadata.platformequinix.com",
    ]

    private static let way = ", which webhooks-allow-private forbids"

    /// RFC 6761 section 6.3, and what Linux distributions call the loopback interface.
    private static func isLocal(_ name: String) -> Bool {
        let bare = name.hasSuffix(".") ? String(name.dropLast()) : name
        return names.contains(bare) || bare.hasSuffix(".localhost")
    }

    private static let names: Set<String> = [
        "localhost", "localhost.localdomain", "localhost4", "localhost4.localdomain4", "localhost6", "localhost6.localdomain6",
        "ip6-localhost", "ip6-loopback",
    ]
}

extension IPAddress {
    /// How far from this machine an address leads.
    enum Reach: Equatable {
        /// The internet, and the addresses of documentation, where nobody is.
        case global
        case loopback
        case linkLocal
        /// Private networks, those of carriers (RFC 6598) and benchmarks, and what is reserved.
        case `private`
        /// Linux connects it to this machine.
        case unspecified
        case multicast

        var phrase: String {
            switch self {
            case .global: "a public address"
            case .loopback: "a loopback address"
            case .linkLocal: "a link-local address"
            case .private: "a private address"
            case .unspecified: "the unspecified address"
            case .multicast: "a multicast address"
            }
        }
    }

    /// The metadata service of clouds, which hands out credentials.
    var isMetadataService: Bool {
        switch self {
        case .v4(let number): Self.metadataServices.contains(number)
        case .v6(let high, let low):
            Self.translated(high, low).map(Self.metadataServices.contains)
                ?? Self.metadataServicesV6.contains { $0 == (high, low) }
        }
    }

    /// 169.254.169.254 (nearly all), 168.63.129.16 (Azure), 169.254.170.2 and .23 (Amazon's containers), 100.100.100.200 (Alibaba),
    /// 192.0.0.192 (Oracle), 169.254.42.42 (Scaleway)
    private static let metadataServices: Set<UInt32> = [
        0xA9FE_A9FE, 0xA83F_8110, 0xA9FE_AA02, 0xA9FE_AA17, 0x6464_64C8, 0xC000_00C0, 0xA9FE_2A2A,
    ]

    /// fd00:ec2::254 and ::23 (Amazon), fd20:ce::254 (Google), fd00:42::42 (Scaleway)
    private static let metadataServicesV6: [(UInt64, UInt64)] = [
        (0xFD00_0EC2 << 32, 0x254), (0xFD00_0EC2 << 32, 0x23), (0xFD20_00CE << 32, 0x254), (0xFD00_0042 << 32, 0x42),
    ]

    /// Source: IANA IPv4 and IPv6 Special-Purpose Address Registries.
    var reach: Reach {
        switch self {
        case .v4(let number): Self.reach(v4: number)
        case .v6(let high, let low): Self.reach(v6: high, low)
        }
    }

    private static func reach(v4 number: UInt32) -> Reach {
        func isIn(_ network: UInt32, _ bits: UInt32) -> Bool { (number ^ network) >> (32 - bits) == 0 }
        if number == 0 { return .unspecified }
        if isIn(0x7F00_0000, 8) { return .loopback }
        if isIn(0xA9FE_0000, 16) { return .linkLocal }
        if isIn(0xE000_0000, 4) || number == .max { return .multicast }
        // 0/8, 10/8, 100.64/10, 172.16/12, 192.0.0/24, 192.168/16, 198.18/15, 240/4
        let networks: [(UInt32, UInt32)] = [
            (0, 8), (0x0A00_0000, 8), (0x6440_0000, 10), (0xAC10_0000, 12), (0xC000_0000, 24), (0xC0A8_0000, 16),
            (0xC612_0000, 15), (0xF000_0000, 4),
        ]
        return networks.contains { isIn($0.0, $0.1) } ? .private : .global
    }

    private static func reach(v6 high: UInt64, _ low: UInt64) -> Reach {
        func isIn(_ network: UInt64, _ bits: UInt64) -> Bool { (high ^ network) >> (64 - bits) == 0 }
        if high == 0, low == 0 { return .unspecified }
        if high == 0, low == 1 { return .loopback }
        if let inner = translated(high, low) { return reach(v4: inner) }
        if isIn(0xFF00 << 48, 8) { return .multicast }
        if isIn(0xFE80 << 48, 10) { return .linkLocal }
        // fc00::/7 (RFC 4193), fec0::/10 (RFC 3879), 64:ff9b:1::/48 (RFC 8215), 100::/64 (RFC 6666), and the rest of ::/8, which is reserved.
        let networks: [(UInt64, UInt64)] = [
            (0xFC00 << 48, 7), (0xFEC0 << 48, 10), (0x0064_FF9B_0001 << 16, 48), (0x0100 << 48, 64), (0, 8),
        ]
        return networks.contains { isIn($0.0, $0.1) } ? .private : .global
    }

    /// The IPv4 address that a gateway, or this machine itself, would make of an IPv6 one.
    private static func translated(_ high: UInt64, _ low: UInt64) -> UInt32? {
        let last = UInt32(truncatingIfNeeded: low)
        switch (high, low >> 32) {
        // ::a.b.c.d (RFC 4291 2.5.5.1), ::ffff:a.b.c.d (2.5.5.2), ::ffff:0:a.b.c.d (RFC 2765)
        case (0, 0), (0, 0xFFFF), (0, 0xFFFF_0000): return last
        // 64:ff9b::/96, NAT64 (RFC 6052)
        case (0x0064_FF9B_0000_0000, 0): return last
        default: break
        }
        // 2002::/16, 6to4 (RFC 3056)
        if high >> 48 == 0x2002 { return UInt32(truncatingIfNeeded: high >> 16) }
        // 2001::/32, Teredo: the client's address, inverted (RFC 4380)
        if high >> 32 == 0x2001_0000 { return ~last }
        return nil
    }
}
