import Foundation
import Wire

/// What Matchmore's SDKs send, in our words.
struct OldClient {
    let port: Int
    let connection: Connection
    /// As an SDK takes it: a JWT whose second part names the world.
    var key: String?

    /// - Parameter world: The `sub` of a token that nobody signed; nil: no key.
    init(to port: Int, world: String? = "world") throws {
        self.port = port
        connection = try Connection(to: port)
        key = world.map(Self.token)
    }

    static func token(_ world: String) -> String {
        let payload = Data("{\"iss\":\"alps\",\"sub\":\"\(world)\",\"jti\":\"1\"}".utf8).base64EncodedString()
        return "eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.\(payload).c2lnbmF0dXJl"
    }

    func ask(
        _ method: String, _ path: String, _ body: String? = nil, fields: [String: String] = [:]
    ) throws -> Connection.Answer {
        var fields = fields.merging(["Content-Type": "application/json", "Accept": "application/json"]) { first, _ in first }
        if let key { fields["api-key"] = key }
        return try connection.ask(method, "/v5" + path, body, fields: fields)
    }

    /// - Returns: The object that was created.
    func create(_ path: String, _ body: String) throws -> JSONObject {
        let answer = try ask("POST", path, body)
        guard answer.status == 201 else { throw Connection.Failure(description: "\(answer)") }
        return answer.json
    }

    /// A phone that has not said where it is.
    func phone() throws -> String {
        let device = try create(
            "/devices",
            #"{"deviceType":"MobileDevice","name":"phone","platform":"iOS","deviceToken":"f4eea68c-a349-4dbe-a395-c935abc7f6f2"}"#
        )
        return device["id"]?.asString ?? ""
    }

    func move(_ device: String, _ latitude: Double = 54.35, _ longitude: Double = 18.55) throws {
        _ = try create("/devices/\(device)/locations", #"{"latitude":\#(latitude),"longitude":\#(longitude),"altitude":0}"#)
    }

    /// A device with a subscription, and a pin with a publication beside it: both meet when the device comes near.
    func pair(topic: String = "sampletopic", matchTTL: Double? = nil) throws -> (
        device: String, publication: String, subscription: String
    ) {
        let device = try phone()
        let pin = try create(
            "/devices", #"{"deviceType":"PinDevice","name":"pin","location":{"latitude":54.35,"longitude":18.55,"altitude":0}}"#)
        let publication = try create(
            "/devices/\(pin["id"]?.asString ?? "")/publications",
            #"{"worldId":"world","deviceId":"\#(pin["id"]?.asString ?? "")","topic":"\#(topic)","range":300,"duration":500,"properties":{"data1":"value1","data2":1,"data3":false}}"#
        )
        let ttl = matchTTL.map { ",\"matchTTL\":\($0)" } ?? ""
        let subscription = try create(
            "/devices/\(device)/subscriptions",
            #"{"worldId":"world","deviceId":"\#(device)","topic":"\#(topic)","range":300,"duration":500,"selector":"data1='value1'"\#(ttl)}"#
        )
        return (device, publication["id"]?.asString ?? "", subscription["id"]?.asString ?? "")
    }

    func matches(of device: String) throws -> [JSONObject] {
        let answer = try ask("GET", "/devices/\(device)/matches")
        guard answer.status == 200 else { throw Connection.Failure(description: "\(answer)") }
        return answer.list.compactMap(\.asObject)
    }

    /// The socket as the SDKs open it.
    func socket(of device: String, world: String = "world", query: String = "") throws -> Socket {
        try Socket(
            to: port, "/pusher/v5/ws/\(device)\(query)", fields: ["Sec-WebSocket-Protocol": "api-key, \(world)"])
    }
}

extension Connection.Answer {
    var list: [JSONValue] { (try? JSONValue.parse(body))?.asArray ?? [] }
}
