import NIOSSL

/// What HTTP is encrypted with.
public struct HTTPCertificate: Sendable {
    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    let context: NIOSSLContext
    /// For HTTP/1.1 only.
    let plainContext: NIOSSLContext

    /// Reads two PEM files; the certificate stands with its chain.
    public init(certificateFile: String, keyFile: String) throws(Failure) {
        do {
            let chain = try NIOSSLCertificate.fromPEMFile(certificateFile).map { NIOSSLCertificateSource.certificate($0) }
            let key = try NIOSSLPrivateKey(file: keyFile, format: .pem)
            var configuration = TLSConfiguration.makeServerConfiguration(certificateChain: chain, privateKey: .privateKey(key))
            configuration.minimumTLSVersion = .tlsv12
            configuration.applicationProtocols = ["h2", "http/1.1"]
            context = try NIOSSLContext(configuration: configuration)
            configuration.applicationProtocols = ["http/1.1"]
            plainContext = try NIOSSLContext(configuration: configuration)
        } catch {
            throw Failure(description: "`http.tls`: \(certificateFile) and \(keyFile) cannot be used: \(error)")
        }
    }
}
