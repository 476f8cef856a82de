import Foundation
import Loopback
import Testing

@testable import MQTTLink

@Suite("MQTTLink over TLS", .serialized, .timeLimit(.minutes(5)))
struct TLSTests {
    private func withTLSBroker(clientCertificates: Bool, _ body: (TestBroker, String) throws -> Void) throws {
        try withBroker(lines: { folder in
            try makeCertificates(folder)
            return """
                allow_anonymous true
                cafile \(folder)/ca.crt
                certfile \(folder)/server.crt
                keyfile \(folder)/server.key
                require_certificate \(clientCertificates)
                """
        }) { try body($0, $0.folder) }
    }

    private func endpoint(_ broker: TestBroker, host: String = "127.0.0.1", _ tls: MQTTEndpoint.TLS) -> MQTTEndpoint {
        MQTTEndpoint(host: host, port: broker.port, tls: tls)
    }

    @Test("Messages pass with the right CA, many at QoS 1 too; with the wrong one the reason is reported")
    func certificateAuthority() throws {
        try withTLSBroker(clientCertificates: false) { broker, folder in
            for host in ["127.0.0.1", "localhost"] {
                try withLink(
                    endpoint(broker, host: host, .init(caFile: folder + "/ca.crt")), filters: [("t/#", 1)]
                ) { link in
                    #expect(link.waitSubscribed())
                    for index in 0..<1000 { link.publish("t/\(index)", "\(index)", token: UInt64(index)) }
                    #expect(link.wait { events, messages in messages.count == 1000 && events.count { $0.token != nil } == 1000 })
                }
            }
            try withLink(endpoint(broker, .init(caFile: folder + "/other.crt"))) { link in
                #expect(link.wait { events, _ in !events.isEmpty })
                guard case .disconnected(.unreachable(let text)) = link.noted.first else {
                    Issue.record("\(link.noted)")
                    return
                }
                #expect(text.contains("certificate verify failed"), "\(text)")
            }
        }
    }

    @Test("A client certificate opens a broker that asks for one")
    func clientCertificate() throws {
        try withTLSBroker(clientCertificates: true) { broker, folder in
            var tls = MQTTEndpoint.TLS(caFile: folder + "/ca.crt")
            try withLink(endpoint(broker, tls)) { link in
                #expect(link.wait { events, _ in events.contains(where: \.isDisconnected) })
                #expect(!link.wasConnected)
            }
            tls.certificateFile = folder + "/client.crt"
            tls.keyFile = folder + "/client.key"
            try withLink(endpoint(broker, tls)) { #expect($0.waitConnected()) }
        }
    }

    @Test("A connection over TLS that was refused went on until its time was over, with a core of its own")
    func refusedConnection() throws {
        try withFolder { folder in
            try makeCertificates(folder)
            let endpoint = MQTTEndpoint(host: "127.0.0.1", port: Loopback.freePort(), tls: .init(caFile: folder + "/ca.crt"))
            try withLink(endpoint) { link in
                #expect(link.wait { events, _ in !events.isEmpty })
                guard case .disconnected(.unreachable(let text)) = link.noted.first else {
                    Issue.record("\(link.noted)")
                    return
                }
                #expect(text == "Connection refused")
            }
        }
    }

    @Test("TLS files that cannot be read are named")
    func missingFiles() {
        var tls = MQTTEndpoint.TLS(caFile: "/no/ca.pem")
        #expect(throws: MQTTEndpointError.file(role: "CA file", path: "/no/ca.pem", reason: "No such file or directory")) {
            try tls.checkFiles()
        }
        tls = .init(certificateFile: "/no/c.pem")
        #expect(throws: MQTTEndpointError.certificatePair) { try tls.checkFiles() }
    }
}
