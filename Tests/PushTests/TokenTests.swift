import Crypto
import Datasets
import Foundation
import Testing
import Wire

@testable import Push

@Suite("Tokens of push services")
struct TokenTests {
    @Test("The token of RFC 8292 is verified, and ours has the same form")
    func vapid() throws {
        let key = try #require(
            Base64URL.decode("BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"))
        let example =
            "eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1MjM3NjgsInN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0.i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjjvW2L9OkSSHzvoD1oA"
        let token = try #require(ReadToken(example))
        #expect(
            try P256.Signing.PublicKey(x963Representation: key).isValidSignature(
                .init(rawRepresentation: token.signature), for: token.signed))
        let own = P256.Signing.PrivateKey()
        let made = try #require(
            ReadToken(
                try VAPID.token(
                    for: "https://push.example.net", until: 1_453_523_768, subject: "mailto:push@example.com", key: own)))
        #expect(
            made.claims as NSDictionary == token.claims as NSDictionary && made.head as NSDictionary == token.head as NSDictionary
        )
        #expect(own.publicKey.isValidSignature(try .init(rawRepresentation: made.signature), for: made.signed))
    }

    private func minutes(_ monotonic: Int64, wall: Int64? = nil) -> Moment {
        Moment(wall: (wall ?? monotonic) * 60_000, monotonic: monotonic * 60_000)
    }

    @Test("A token is used until it is too old or the clock was set, and renewed once where the service rejects it")
    func cache() {
        var cache = TokenCache(lifetime: 50 * 60_000)
        var made = 0
        func current(_ moment: Moment) -> String {
            cache.current(at: moment) {
                made += 1
                return "\(made)"
            }
        }
        #expect(current(minutes(0)) == "1" && current(minutes(49)) == "1" && current(minutes(50)) == "2")
        // Set by four minutes, by an hour, and back.
        #expect(current(minutes(60, wall: 64)) == "2" && current(minutes(61, wall: 121)) == "3")
        #expect(current(minutes(62, wall: 122)) == "3" && current(minutes(63)) == "4")
        #expect(cache.reject("4", at: minutes(64)) && current(minutes(64)) == "5")
        // Others that were sent with it learn the same, and try the next one.
        #expect(cache.reject("4", at: minutes(64)) && current(minutes(64)) == "5")
        #expect(!cache.reject("5", at: minutes(65)) && current(minutes(65)) == "5")
        #expect(!cache.reject("5", at: minutes(83)) && cache.reject("5", at: minutes(84)) && current(minutes(84)) == "6")
    }

    @Test("A text that is too long for a service is cut until the whole fits")
    func sizes() throws {
        for filler in ["x", "é", "🏠", "\u{1}", "\\"] {
            let body = String(decoding: JSONValue.string(String(repeating: filler, count: 4096)).serialised(), as: UTF8.self)
            let text = PushText(Array(#"{"matchId":"m","notification":{"title":\#(body),"body":\#(body)}}"#.utf8))
            for (bytes, max) in [
                (text.apns, 4096), (text.fcm(token: "t", seconds: 9), 4097), (text.web, WebPushEncryption.messageBytesMax),
            ] {
                #expect(bytes.count <= max && bytes.count > max / 2)
                _ = try JSONValue.parse(bytes)
            }
        }
    }

    @Test("Without a text the app is woken, and nobody sees anything")
    func silent() throws {
        let text = PushText(Array(#"{"matchId":"m","event":"ended"}"#.utf8))
        #expect(String(decoding: text.apns, as: UTF8.self) == #"{"aps":{"content-available":1},"matchId":"m","event":"ended"}"#)
        #expect(
            String(decoding: text.fcm(token: "t", seconds: 60), as: UTF8.self)
                == #"{"message":{"token":"t","data":{"matchId":"m","event":"ended"},"android":{"priority":"NORMAL","ttl":"60s"}}}"#
        )
        #expect(String(decoding: text.web, as: UTF8.self) == #"{"matchId":"m","event":"ended"}"#)
    }
}
