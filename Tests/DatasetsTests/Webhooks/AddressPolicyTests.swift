import Testing

@testable import Datasets

@Suite("Where webhooks may be posted to")
struct AddressPolicyTests {
    @Test(
        "Addresses of the operator's own networks are distinguished from public ones",
        arguments: [
            ("127.0.0.1", "loopback"), ("127.255.255.255", "loopback"), ("126.255.255.255", nil), ("128.0.0.0", nil),
            ("0.0.0.0", "unspecified"), ("0.1.2.3", "private"), ("1.0.0.0", nil),
            ("10.0.0.0", "private"), ("10.255.255.255", "private"), ("9.255.255.255", nil), ("11.0.0.0", nil),
            ("100.63.255.255", nil), ("100.64.0.0", "private"), ("100.127.255.255", "private"), ("100.128.0.0", nil),
            ("169.253.255.255", nil), ("169.254.1.1", "link-local"), ("169.255.0.0", nil),
            ("172.15.255.255", nil), ("172.16.0.0", "private"), ("172.31.255.255", "private"), ("172.32.0.0", nil),
            ("192.0.0.1", "private"), ("192.0.1.0", nil), ("192.0.2.1", nil),
            ("192.167.255.255", nil), ("192.168.0.0", "private"), ("192.168.255.255", "private"), ("192.169.0.0", nil),
            ("198.17.255.255", nil), ("198.18.0.0", "private"), ("198.19.255.255", "private"), ("198.20.0.0", nil),
            ("198.51.100.1", nil), ("203.0.113.1", nil), ("223.255.255.255", nil),
            ("224.0.0.1", "multicast"), ("239.255.255.255", "multicast"), ("240.0.0.1", "private"),
            ("255.255.255.255", "multicast"),
            ("[::]", "unspecified"), ("[::1]", "loopback"), ("[::2]", "private"), ("[2001:db8::1]", nil),
            ("[2606:4700::1111]", nil),
            ("[fe80::1]", "link-local"), ("[febf::1]", "link-local"), ("[fec0::1]", "private"), ("[fc00::1]", "private"),
            ("[fdff::1]", "private"), ("[fe00::1]", nil), ("[ff02::1]", "multicast"), ("[100::1]", "private"),
            ("[::127.0.0.1]", "loopback"), ("[::ffff:127.0.0.1]", "loopback"), ("[::ffff:10.0.0.1]", "private"),
            ("[::ffff:8.8.8.8]", nil), ("[::ffff:0:192.168.0.1]", "private"), ("[64:ff9b::10.0.0.1]", "private"),
            ("[64:ff9b::8.8.8.8]", nil), ("[64:ff9b:1::8.8.8.8]", "private"), ("[2002:7f00:1::]", "loopback"),
            ("[2002:808:808::]", nil), ("[2001:0:1::f5ff:fffe]", "private"), ("[2001:0:1::f7f7:f7f7]", nil),
        ])
    func reach(_ host: String, _ reason: String?) throws {
        let url = try WebhookURL("http://\(host)/")
        let refusal = AddressPolicy(allowsPrivate: false).refusal(of: url)
        if let reason {
            #expect(
                refusal?.contains("is a \(reason)") == true || refusal?.contains("the \(reason)") == true,
                "\(refusal ?? "allowed")")
        } else {
            #expect(refusal == nil)
        }
        let allowed = AddressPolicy(allowsPrivate: true).refusal(of: url)
        #expect((allowed == nil) == (reason != "multicast"))
    }

    @Test(
        "Metadata services of clouds are refused whatever is allowed, by name, address and every spelling of it",
        arguments: [
            "169.254.169.254", "0xA9FEA9FE", "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "168.63.129.16",
            "100.100.100.200", "[fd00:ec2::254]", "metadata.google.internal", "METADATA.google.internal.", "metadata.goog",
        ])
    func metadata(_ host: String) throws {
        let url = try WebhookURL("http://\(host)/latest/meta-data/")
        for allowsPrivate in [true, false] {
            #expect(AddressPolicy(allowsPrivate: allowsPrivate).refusal(of: url)?.contains("metadata") == true)
        }
    }

    @Test("A name is refused where one of its addresses is, and none of them is named")
    func resolved() {
        let strict = AddressPolicy(allowsPrivate: false)
        let (inside, outside) = (IPAddress.v4(0x0A00_0001), IPAddress.v4(0x0808_0808))
        #expect(strict.refusal(of: "name.example", resolvedTo: [outside]) == nil)
        for addresses in [[inside], [outside, inside]] {
            let refusal = strict.refusal(of: "name.example", resolvedTo: addresses)
            #expect(refusal?.contains("name.example") == true && refusal?.contains("10.0") == false)
        }
        #expect(AddressPolicy(allowsPrivate: true).refusal(of: "name.example", resolvedTo: [inside]) == nil)
        #expect(AddressPolicy(allowsPrivate: true).refusal(of: "name.example", resolvedTo: [.v4(0xA83F_8110)]) != nil)
    }

    @Test(
        "Names of this machine are distinguished from others",
        arguments: [
            ("localhost", true), ("LocalHost.", true), ("a.localhost", true), ("localhost.localdomain", true),
            ("ip6-loopback", true),
            ("notlocalhost", false), ("localhost.example.com", false), ("example.com", false),
        ])
    func names(_ name: String, _ isLocal: Bool) throws {
        let url = try WebhookURL("https://\(name):8443/x")
        #expect((AddressPolicy(allowsPrivate: false).refusal(of: url) != nil) == isLocal)
        #expect(AddressPolicy(allowsPrivate: true).refusal(of: url) == nil)
    }

    @Test("An address comes from the bytes of a socket address")
    func bytes() {
        #expect(IPAddress(bytes: [192, 0, 2, 1]) == .v4(0xC000_0201))
        #expect(IPAddress(bytes: [192, 0, 2, 1])?.description == "192.0.2.1")
        let six: [UInt8] = [0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
        #expect(IPAddress(bytes: six) == .v6(high: 0x2001_0DB8_0000_0000, low: 1))
        #expect(IPAddress(bytes: six)?.description == "2001:db8:0:0:0:0:0:1")
        #expect(IPAddress(bytes: [1, 2, 3]) == nil)
    }
}
