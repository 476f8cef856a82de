import Crypto
import Datasets
import Foundation
import Records
import Synchronization
import Testing
import Wire

@testable import Datasets
@testable import HTTPDoor

@Suite("Keys that requests make")
struct KeyTests {
    private func withKeys<Result: Sendable>(
        trusted: Bool = true, hub: (inout HubConfiguration) -> Void = { _ in }, _ body: (HTTPHouse) async throws -> Result
    ) async throws -> Result {
        try await withHTTP({ $0.trustsLoopback = trusted }, hub: hub, body)
    }

    private func create(_ connection: Connection, _ body: String, in dataset: String = "d") throws -> JSONObject {
        let answer = try connection.ask("POST", "/api/\(dataset)/key/create?client=admin", body)
        return try #require(answer.json["result"]?.asObject, "\(answer)")
    }

    private func key(_ connection: Connection, _ body: String, in dataset: String = "d") throws -> (id: String, key: String) {
        let made = try create(connection, body, in: dataset)
        return (try #require(made["id"]?.asString), try #require(made["key"]?.asString))
    }

    @Test("Ten thousand made-up keys put out one that there is")
    func madeUpKeys() async throws {
        func text(_ id: String) -> String {
            "h." + Base64URL.encode(Array(#"{"sub":"*","client":"c","jti":"\#(id)"}"#.utf8)) + ".s"
        }
        let digest = KeySigner.digest(of: text("real"))
        let keys = StoredKeys(monotonic: { 0 }) { dataset, id in
            id == "real" ? AccessKeyRecord(dataset: dataset, id: id, client: "c", name: "", createdAt: 0, digest: digest) : nil
        }
        #expect(await keys.find(text("real")) && keys.record(withDigest: digest)?.id == "real")
        for number in 0..<10_002 { #expect(await keys.find(text("made up \(number)"))) }
        #expect(keys.recordInUse(withDigest: digest)?.id == "real")
    }

    @Test("A key is a signed token that says what it is for, and is shown once")
    func token() async throws {
        let signer = P256.Signing.PrivateKey()
        try await withKeys(hub: { $0.signKey = KeySigner(signer).sign }) { house in
            let connection = try Connection(to: house.port)
            let made = try create(connection, #"{"client":"ann","name":"Ann's phone","expiresIn":60}"#)
            #expect(made["client"] == "ann" && made["name"] == "Ann's phone")
            let parts = try #require(made["key"]?.asString).split(separator: ".").map(String.init)
            try #require(parts.count == 3)
            let payload = try JSONValue.parse(try #require(Base64URL.decode(parts[1]))).asObject
            #expect(payload?["sub"] == "d" && payload?["client"] == "ann" && payload?["jti"] == made["id"], "\(parts[1])")
            let (issued, expires) = (payload?["iat"]?.asInt64 ?? 0, payload?["exp"]?.asInt64 ?? 0)
            #expect((60...61).contains(expires - issued) && issued == (made["createdAt"]?.asInt64 ?? 0) / 1000)
            let signature = try P256.Signing.ECDSASignature(rawRepresentation: try #require(Base64URL.decode(parts[2])))
            #expect(signer.publicKey.isValidSignature(signature, for: Array("\(parts[0]).\(parts[1])".utf8)))
            let list = try connection.ask("GET", "/api/d/key/list?client=admin")
            let known = list.json["result"]?.asObject?["keys"]?.asArray?.first?.asObject
            #expect(known?["id"] == made["id"] && known?["key"] == nil && known?["lastUsedAt"] == nil, "\(list)")
        }
    }

    @Test("The payload of a key holds neither of the characters that differ between the alphabets of base 64")
    func alphabet() throws {
        let signer = KeySigner()
        let names = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-".map(String.init)
        for first in names {
            for second in names {
                let claims = KeyClaims(
                    id: "\(first)\(second)", dataset: "*", client: "\(second)\(first)a", createdAt: 1, expiresAt: 2)
                let payload = signer.sign(claims).text.split(separator: ".")[1]
                #expect(!payload.contains { "-_".contains($0) }, "\(payload)")
            }
        }
    }

    @Test("A key made by a request stands for its client in its dataset, and its use is noted")
    func use() async throws {
        try await withKeys { house in
            let connection = try Connection(to: house.port)
            let (id, key) = try key(connection, #"{"client":"ann"}"#)
            let made = try connection.ask(
                "POST", "/api/d/device/create", #"{"deviceType":"MobileDevice"}"#, host: "elsewhere", fields: ["api-key": key])
            #expect(made.json["result"]?.asObject?["owner"] == "ann", "\(made)")
            #expect(try connection.ask("GET", "/api/other/device/list?key=\(key)").status == 403)
            let basic = Data("ann:\(key)".utf8).base64EncodedString()
            #expect(try connection.ask("GET", "/api/d/device/list", fields: ["Authorization": "Basic \(basic)"]).status == 200)
            let wrong = Data("bob:\(key)".utf8).base64EncodedString()
            #expect(try connection.ask("GET", "/api/d/device/list", fields: ["Authorization": "Basic \(wrong)"]).status == 401)
            let list = try connection.ask("GET", "/api/d/key/list?client=admin")
            let known = list.json["result"]?.asObject?["keys"]?.asArray?.first?.asObject
            #expect(known?["id"]?.asString == id && (known?["lastUsedAt"]?.asInt64 ?? 0) > 0, "\(list)")
        }
    }

    @Test("Only administrators make, see and delete keys, and only administrators of all make keys for all")
    func administrators() async throws {
        try await withKeys(hub: { $0.administrators = AccessPatterns(["admin", "d/chief"]) }) { house in
            let connection = try Connection(to: house.port)
            func status(_ verb: String, _ client: String, _ body: String) throws -> Int {
                try connection.ask("POST", "/api/d/key/\(verb)?client=\(client)", body).status
            }
            #expect(try status("create", "me", #"{"client":"ann"}"#) == 401)
            #expect(try status("list", "me", "{}") == 401)
            #expect(try status("create", "chief", #"{"client":"ann"}"#) == 200)
            #expect(try status("create", "chief", #"{"client":"ann","dataset":"*"}"#) == 401)
            #expect(try status("create", "chief", #"{"client":"ann","dataset":"e"}"#) == 401)
            #expect(try status("create", "admin", #"{"client":"ann","dataset":"e"}"#) == 404)
            #expect(try status("create", "admin", #"{"client":"status"}"#) == 400)
            #expect(try status("create", "admin", #"{"client":"ann","expiresIn":0}"#) == 400)
            let (id, key) = try key(connection, #"{"client":"admin","dataset":"*"}"#)
            #expect(try connection.ask("GET", "/api/d/dataset/list?key=\(key)").status == 200)
            #expect(try status("delete", "chief", "{\"id\":\"\(id)\"}") == 404)
            #expect(try status("delete", "admin", "{\"id\":\"\(id)\"}") == 200)
            #expect(try connection.ask("GET", "/api/d/dataset/list?key=\(key)").status == 401)
            #expect(try connection.ask("GET", "/metrics?key=\(key)").status == 401)
        }
    }

    @Test("With a key for one dataset an administrator of all is none of the others")
    func confinement() async throws {
        try await withKeys { house in
            let connection = try Connection(to: house.port)
            _ = try create(connection, #"{"client":"ann"}"#, in: "other")
            let (_, key) = try key(connection, #"{"client":"admin"}"#)
            let list = try connection.ask("GET", "/api/d/dataset/list?key=\(key)")
            #expect(list.json["result"]?.asObject?["datasets"]?.asArray?.count == 1, "\(list)")
            for dataset in ["*", "other"] {
                let made = try connection.ask("POST", "/api/d/key/create?key=\(key)", #"{"client":"x","dataset":"\#(dataset)"}"#)
                #expect(made.status == 401, "\(made)")
            }
            let socket = try Socket(to: house.port, "/api/d/socket?key=\(key)")
            socket.send(#"{"request":"key/create","client":"x","dataset":"*"}"#)
            #expect(try socket.next().json["error"]?.asObject?["error"] == "unauthorized")
            #expect(try connection.ask("POST", "/api/d/key/create?key=\(key)", #"{"client":"x"}"#).status == 200)
        }
    }

    @Test("A deleted key stops working at once: sockets are closed with 1008, event streams end")
    func deletion() async throws {
        try await withKeys { house in
            let connection = try Connection(to: house.port)
            let (id, key) = try key(connection, #"{"client":"ann"}"#)
            let (_, other) = try self.key(connection, #"{"client":"ann"}"#)
            let socket = try Socket(to: house.port, "/api/d/socket?key=\(key)")
            let kept = try Socket(to: house.port, "/api/d/socket?key=\(other)")
            let events = try Connection(to: house.port)
            events.write("GET /api/d/events?key=\(key) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            _ = try events.read(until: ":\n\n")
            socket.send(#"{"request":"device/list"}"#)
            #expect(try socket.next().json["result"] != nil)
            let deleted = try connection.ask("POST", "/api/d/key/delete?client=admin", "{\"id\":\"\(id)\"}")
            #expect(deleted.status == 200, "\(deleted)")
            #expect(try socket.next { $0.opcode == 8 }.code == 1008)
            #expect(events.ends())
            #expect(try connection.ask("GET", "/api/d/device/list?key=\(key)").status == 401)
            kept.send(#"{"request":"device/list"}"#)
            #expect(try kept.next().json["result"] != nil)
        }
    }

    @Test("Streams of a client that could name the dataset no longer went on")
    func lostDataset() async throws {
        let lost = Atomic(false)
        try await withHTTP(
            hub: {
                $0.mayName = { _, client in client != "ann" || !lost.load(ordering: .acquiring) }
                $0.accessVersion = { lost.load(ordering: .acquiring) ? 1 : 0 }
            },
            { house in
                let connection = try Connection(to: house.port)
                let made = try connection.ask("POST", "/api/d/device/create?client=bob", #"{"deviceType":"MobileDevice"}"#)
                #expect(made.status == 200)
                let socket = try Socket(to: house.port, "/api/d/socket?client=ann")
                let kept = try Socket(to: house.port, "/api/d/socket?client=bob")
                let events = try Connection(to: house.port)
                events.write("GET /api/d/events?client=ann HTTP/1.1\r\nHost: localhost\r\n\r\n")
                _ = try events.read(until: ":\n\n")
                lost.store(true, ordering: .releasing)
                #expect(try socket.next { $0.opcode == 8 }.code == 1008)
                #expect(events.ends())
                kept.send(#"{"request":"device/list"}"#)
                #expect(try kept.next().json["result"] != nil)
            })
    }

    @Test("A key ends with its time, and with its dataset")
    func ends() async throws {
        try await withKeys { house in
            let connection = try Connection(to: house.port)
            let (_, brief) = try key(connection, #"{"client":"ann","expiresIn":1}"#)
            let (_, lasting) = try key(connection, #"{"client":"ann"}"#)
            let socket = try Socket(to: house.port, "/api/d/socket?key=\(brief)")
            #expect(try socket.next { $0.opcode == 8 }.code == 1008)
            #expect(try connection.ask("GET", "/api/d/device/list?key=\(brief)").status == 401)
            #expect(try connection.ask("GET", "/api/d/device/list?key=\(lasting)").status == 200)
            #expect(try connection.ask("POST", "/api/d/dataset/delete?client=admin").status == 200)
            #expect(try connection.ask("GET", "/api/d/device/list?key=\(lasting)").status == 401)
        }
    }

    @Test("What was not made here is no key: unsigned, altered, signed by another, shifted in time")
    func forgeries() async throws {
        try await withKeys { house in
            let connection = try Connection(to: house.port)
            let (id, key) = try key(connection, #"{"client":"ann"}"#)
            let parts = key.split(separator: ".").map(String.init)
            let none = Base64URL.encode(Array(#"{"alg":"none","typ":"JWT"}"#.utf8))
            let altered = Base64URL.encode(Array(#"{"sub":"*","client":"admin","jti":"\#(id)","iat":1}"#.utf8))
            let shifted = KeySigner().sign(
                KeyClaims(id: id, dataset: "d", client: "ann", createdAt: 4_102_444_800_000, expiresAt: nil))
            let forged = [
                "\(none).\(parts[1]).", "\(none).\(altered).", "\(parts[0]).\(altered).\(parts[2])",
                "\(parts[0]).\(parts[1])", "\(parts[0]).\(parts[1]).", "\(parts[0]).\(parts[1]).\(parts[2])=", shifted.text,
                String(key.dropLast()), key + "A",
            ]
            for forged in forged {
                let answer = try connection.ask("GET", "/api/d/device/list", fields: ["api-key": forged])
                #expect(answer.status == 401 && answer.error == "unauthorized", "\(forged): \(answer)")
            }
        }
    }

    @Test("Keys and origins of the file are taken up anew, and what came with a key that is gone is cut off")
    func reload() async throws {
        try await withHTTP({
            $0.trustsLoopback = false
            $0.keys = [
                FileKey(key: "first-key", dataset: "d", client: "ann"), FileKey(key: "second-key", dataset: "d", client: "bob"),
            ]
        }) { house in
            let connection = try Connection(to: house.port)
            #expect(
                try connection.ask("POST", "/api/d/device/create?key=second-key", #"{"deviceType":"MobileDevice"}"#).status == 200
            )
            let gone = try Socket(to: house.port, "/api/d/socket?key=first-key")
            let kept = try Socket(to: house.port, "/api/d/socket?key=second-key")
            house.door.reload(
                keys: [
                    FileKey(key: "second-key", dataset: "d", client: "bob"),
                    FileKey(key: "third-key", dataset: "d", client: "eve"),
                ], origins: OriginPatterns(["https://map.example.org"]))
            #expect(try gone.next { $0.opcode == 8 }.code == 1008)
            kept.send(#"{"request":"device/list"}"#)
            #expect(try kept.next().json["result"] != nil)
            #expect(try connection.ask("GET", "/api/d/device/list?key=first-key").status == 401)
            let third = try connection.ask(
                "GET", "/api/d/device/list?key=third-key", fields: ["Origin": "https://map.example.org"])
            #expect(third.status == 200 && third.fields["access-control-allow-origin"] == "https://map.example.org")
        }
    }

    @Test("The signing key is made once, for its owner only")
    func signingKey() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "keys-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/signing-key.pem"
        _ = try KeySigner(file: path)
        let first = try String(contentsOfFile: path, encoding: .utf8)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        _ = try KeySigner(file: path)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == first)
        try Data("nonsense".utf8).write(to: URL(filePath: path))
        #expect(throws: KeySigner.Failure.self) { _ = try KeySigner(file: path) }
    }
}
