import Glibc
import HTTPDoor
import MQTTLink

// The files that the configuration names: they must be there and right, as at a start.

extension Settings {
    /// What is wrong with the files, each by its key.
    var mistakesInFiles: [String] {
        var mistakes: [String] = []
        if broker == nil, let usersFile {
            do throws(EmbeddedBrokerError) { _ = try UsersFile.read(usersFile) } catch { mistakes.append(error.description) }
        }
        for (key, path) in filesToRead where !Self.isReadable(path) {
            let reason = String(cString: strerror(errno))
            mistakes.append("\(key): \(EmbeddedBrokerError.fileUnreadable(path: path, reason: reason).description)")
        }
        return mistakes + mistakesInCertificates
    }

    /// What is wrong with certificates and keys that are there; files that are missing are reported by their readers.
    var mistakesInCertificates: [String] {
        certificates.compactMap { key, certificate, keyFile in
            guard Self.isReadable(certificate), Self.isReadable(keyFile) else { return nil }
            do throws(HTTPCertificate.Failure) {
                try HTTPCertificate.check(certificateFile: certificate, keyFile: keyFile, of: key)
                return nil
            } catch {
                return error.description
            }
        }
    }

    /// Certificates that are right but for their time, which may be the clock's fault.
    func doubtsInCertificates(at now: Int) -> [String] {
        certificates.compactMap { key, certificate, _ in HTTPCertificate.doubt(certificateFile: certificate, of: key, at: now) }
    }

    private var certificates: [(key: String, certificate: String, keyFile: String)] {
        let listener = broker == nil ? encryptedListener : nil
        let ofListener = listener.map { ("listen-tls", $0.certificateFile, $0.keyFile) }
        let ofHTTP = http?.tls.map { ("http.tls", $0.certificateFile, $0.keyFile) }
        return [ofListener, ofHTTP].compactMap(\.self)
    }

    private static func isReadable(_ path: String) -> Bool { Glibc.access(path, R_OK) == 0 }

    private var filesToRead: [(key: String, path: String)] {
        let listener = broker == nil ? encryptedListener : nil
        let tilesFile: String? = if case .file(let path) = tiles { path } else { nil }
        let files: [(key: String, path: String?)] = [
            ("tls.ca-file", broker?.tls?.caFile), ("tls.certificate-file", broker?.tls?.certificateFile),
            ("tls.key-file", broker?.tls?.keyFile), ("listen-tls.certificate-file", listener?.certificateFile),
            ("listen-tls.key-file", listener?.keyFile), ("http.tls.certificate-file", http?.tls?.certificateFile),
            ("http.tls.key-file", http?.tls?.keyFile), ("push.ca-file", push.caFile), ("push.apns.key-file", push.apns?.keyFile),
            ("push.fcm.service-account-file", push.fcm?.serviceAccountFile), ("page.mbtiles", tilesFile),
        ]
        return files.compactMap { key, path in path.map { (key, $0) } }
    }
}
