import GeomatchClient

/// What is under test: a screen that greets who arrives.
func greeting(_ client: GeomatchClient) async throws -> String {
    let events = client.geofenceEvents
    for try await event in events.events where event.kind == .entered { return "Hello, \(event.deviceID)!" }
    return ""
}

/// Its test, without a daemon.
func arrivalIsGreeted() async throws -> String {
    let fake = GeomatchFake(dataset: "demo")
    let client = try fake.client("me")
    // What nobody listens to yet waits, as at a broker.
    fake.send(
        ["id": "1", "event": "entered", "geofence": "home", "deviceId": "phone", "visit": "1"], to: "me", on: "geofence/home")
    let greeted = try await greeting(client)
    await client.close()
    return greeted
}
