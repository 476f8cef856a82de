import Wire

/// What is in a city before anybody moves: the requests that make it, each of which may be made again.
struct DemoCityObjects {
    let requests: [(name: String, parameters: JSONObject)]

    /// Of one request.
    private static let itemsMax = 500
    private static let duration = JSONValue.integer(86_400)
    /// One in so many walkers is hungry, and one in so many waits for a taxi.
    private static let hungry = 10
    private static let waiting = 25

    init(_ city: DemoCity) {
        let shops = city.shops
        let (walkers, taxis) = (city.movers.filter { $0.every == 2 }, city.movers.filter { $0.every == 1 })
        var devices = shops.map(Self.pin)
        devices += (walkers + taxis).map { ["deviceType": "MobileDevice", "id": .string($0.id)] }
        var publications = shops.filter { $0.kind == .cafe || $0.kind == .bakery }.enumerated().map { index, shop in
            Self.attached("food-", shop.id, topic: "food", range: 30) {
                $0["properties"] = ["kind": .string(shop.kind.rawValue), "price": .integer(Int64(2 + index % 5))]
            }
        }
        publications += taxis.enumerated().map { index, taxi in
            Self.attached("free-", taxi.id, topic: "taxi", range: 20) {
                $0["properties"] = ["seats": .integer(Int64(2 + index % 6))]
            }
        }
        var subscriptions: [JSONValue] = []
        for (index, walker) in walkers.enumerated() where index % Self.hungry == 0 {
            subscriptions.append(
                Self.attached("hungry-", walker.id, topic: "food", range: 15) {
                    $0["selector"] = "price < 5"
                    $0["matchTTL"] = .integer(600)
                    $0["matchDTL"] = .integer(200)
                })
        }
        for (index, walker) in walkers.enumerated() where index % Self.waiting == 1 {
            subscriptions.append(
                Self.attached("waiting-", walker.id, topic: "taxi", range: 10) {
                    $0["selector"] = "seats >= 4"
                    $0["mode"] = "visit"
                })
        }
        var requests = Self.batches("device/create", devices) + Self.batches("publication/create", publications)
        requests += Self.batches("subscription/create", subscriptions)
        requests.append(
            ("place/import", ["places": ["type": "FeatureCollection", "features": .array(shops.map(Self.place))]]))
        requests.append(
            (
                "circumstance/register",
                [
                    "id": "pharmacy", "name": "Somebody arrives at a pharmacy", "when": "arriving",
                    "expression": #"(at (= category-id "pharmacy"))"#,
                    "devices": .array(walkers.prefix(500).map { .string($0.id) }),
                ]
            ))
        self.requests = requests
    }

    private static func batches(_ name: String, _ items: [JSONValue]) -> [(name: String, parameters: JSONObject)] {
        stride(from: 0, to: items.count, by: itemsMax).map { start in
            (name, ["items": .array(Array(items[start..<min(start + itemsMax, items.count)]))])
        }
    }

    private static func pin(_ shop: DemoCity.Shop) -> JSONValue {
        [
            "deviceType": "PinDevice", "id": .string(shop.id), "name": .string(shop.kind.name),
            "location": [
                "latitude": .double(shop.position.latitude), "longitude": .double(shop.position.longitude),
            ],
        ]
    }

    private static func attached(
        _ prefix: String, _ device: String, topic: String, range: Int64, _ more: (inout JSONObject) -> Void
    ) -> JSONValue {
        var object: JSONObject = [
            "id": .string(prefix + device), "deviceId": .string(device), "topic": .string(topic), "range": .integer(range),
            "duration": duration,
        ]
        more(&object)
        return .object(object)
    }

    private static func place(_ shop: DemoCity.Shop) -> JSONValue {
        [
            "type": "Feature", "geometry": ["type": "Point", "coordinates": DemoCity.coordinates(shop.position)],
            "properties": [
                "id": .string(shop.id), "name": .string("\(shop.kind.name) \(shop.id.dropFirst(5))"),
                "categoryIds": [.string(shop.kind.rawValue)], "openingHours": "Mo-Sa 08:00-20:00",
            ],
        ]
    }
}
