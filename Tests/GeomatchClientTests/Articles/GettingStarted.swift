import GeomatchClient

func meetAtTheCafe(broker: String) async throws -> GeoMatch? {
    try await withGeomatchClient(broker: broker, dataset: "demo", client: "me") { client in
        // A café that stays where it is, and a phone.
        let cafe = try await client.devices.create(
            .pin(name: "Café", location: GeoLocation(latitude: 43.7300, longitude: 7.4200))
        ).value
        let phone = try await client.devices.create(.mobile(name: "Phone")).value

        // The café offers espresso within 50 m for a day; the phone looks for a cheap one.
        _ = try await client.publications.create(
            GeoPublication.Draft(
                on: cafe.id, topic: "coffee", range: 50, duration: .seconds(86_400),
                properties: ["kind": "espresso", "price": 3])
        ).value
        _ = try await client.subscriptions.create(
            GeoSubscription.Draft(
                on: phone.id, topic: "coffee", range: 50, duration: .seconds(86_400),
                selector: "kind = 'espresso' AND price < 5")
        ).value

        // The phone walks by, and they match.
        let monitor = MatchMonitor(client)
        var matches = monitor.matches.makeAsyncIterator()
        try await monitor.start(phone.id)
        _ = try await client.devices.update(
            phone.id, GeoDevice.Changes(location: GeoLocation(latitude: 43.7303, longitude: 7.4203)))
        return try await matches.next()
    }
}
