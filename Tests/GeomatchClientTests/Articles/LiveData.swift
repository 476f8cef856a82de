import GeomatchClient

/// Follows a floor of the simulated building (`geomatch demo building`) until `count` updates came.
func followTheFloor(broker: String, count: Int) async throws -> [String] {
    let manager = try LiveDataManager(broker: broker, dataset: "demo", client: "me")
    // Ask for the updates first: they collect from here on.
    let updates = manager.updates
    let floor = try await manager.subscribe(
        to: LiveCriteria().venue("hq").floor("1").minInterval(.seconds(1)))

    var lines: [String] = []
    for try await update in updates {
        if update.hasLeft {
            lines.append("\(update.itemID) is gone")
        } else {
            lines.append("\(update.itemID): \(describe(update.value))")
        }
        if lines.count == count { break }
    }
    // The last subscription to end closes the connection.
    try await manager.unsubscribe(floor)
    return lines
}

func describe(_ value: LiveValue) -> String {
    switch value {
    case .position(let position): "at \(position.latitude), \(position.longitude)"
    case .occupancy(let occupancy): "\(occupancy.numberOfPeople) people"
    case .availability(let isFree): isFree ? "free" : "taken"
    case .temperature(let temperature): "\(temperature.converted(to: .celsius).value) °C"
    case .custom(let properties): PropertyValue.object(properties).description
    default: "something else"
    }
}
