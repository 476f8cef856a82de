import Foundation
import NIOSSL
import Synchronization

/// What HTTP is encrypted with; a reload reads its files anew.
public final class HTTPCertificate: Sendable {
    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    private struct Content {
        let context: NIOSSLContext
        /// For HTTP/1.1 only.
        let plainContext: NIOSSLContext
        let chain: [NIOSSLCertificate]
    }

    private let certificateFile: String
    private let keyFile: String
    private let content: Mutex<Content>

    /// Reads two PEM files; the certificate is given with its chain.
    public init(certificateFile: String, keyFile: String) throws(Failure) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
        content = Mutex(try Self.read(certificateFile, keyFile))
    }

    /// What a connection begins with from now on.
    var context: NIOSSLContext { content.withLock { $0.context } }

    /// The same for HTTP/1.1 only.
    var plainContext: NIOSSLContext { content.withLock { $0.plainContext } }

    /// The certificate and those that it rests on.
    var chain: [NIOSSLCertificate] { content.withLock { $0.chain } }

    /// Reads the files anew; where they are wrong everything stays.
    func reload() throws(Failure) {
        let new = try Self.read(certificateFile, keyFile)
        content.withLock { $0 = new }
    }

    /// Whether two PEM files are a certificate and its key, for `listen-tls` as well.
    ///
    /// - Parameter key: Of the configuration, which the failure names.
    public static func check(certificateFile: String, keyFile: String, of key: String) throws(Failure) {
        func text(_ path: String) -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
        let (certificate, secret) = (text(certificateFile), text(keyFile))
        func isCertificate(_ text: String) -> Bool { text.contains("-----BEGIN CERTIFICATE") }
        func isKey(_ text: String) -> Bool { text.contains("PRIVATE KEY-----") }
        let advice = isCertificate(secret) && isKey(certificate) ? ": certificate-file and key-file are swapped" : ""
        guard isCertificate(certificate) else {
            throw Failure(description: "`\(key)`: \(certificateFile) has no certificate\(advice)")
        }
        guard isKey(secret) else { throw Failure(description: "`\(key)`: \(keyFile) has no private key\(advice)") }
        do {
            _ = try content(certificateFile, keyFile)
        } catch {
            throw Failure(
                description:
                    "`\(key)`: the key in \(keyFile) is not that of the certificate in \(certificateFile), or one cannot be used: \(error)"
            )
        }
    }

    /// Why clients will not take a certificate that can be used: it is of another time. Nil where they may, and where it cannot be read.
    ///
    /// - Parameters:
    ///   - key: Of the configuration, which the text names.
    ///   - now: Seconds since 1970 UTC.
    public static func doubt(certificateFile: String, of key: String, at now: Int) -> String? {
        guard let own = (try? NIOSSLCertificate.fromPEMFile(certificateFile))?.first else { return nil }
        func day(_ seconds: Int) -> String { Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601) }
        let (begin, end) = (Int(own.notValidBefore), Int(own.notValidAfter))
        guard now < begin || now > end else { return nil }
        let when = now < begin ? "is good from \(day(begin)) on" : "was good until \(day(end))"
        return "`\(key)`: the certificate in \(certificateFile) \(when): clients refuse it"
    }

    private static func read(_ certificateFile: String, _ keyFile: String) throws(Failure) -> Content {
        do {
            return try content(certificateFile, keyFile)
        } catch {
            throw Failure(description: "`http.tls`: \(certificateFile) and \(keyFile) cannot be used: \(error)")
        }
    }

    private static func content(_ certificateFile: String, _ keyFile: String) throws -> Content {
        let chain = try NIOSSLCertificate.fromPEMFile(certificateFile)
        let key = try NIOSSLPrivateKey(file: keyFile, format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["h2", "http/1.1"]
        let context = try NIOSSLContext(configuration: configuration)
        configuration.applicationProtocols = ["http/1.1"]
        return Content(context: context, plainContext: try NIOSSLContext(configuration: configuration), chain: chain)
    }
}
