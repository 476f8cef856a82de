import Foundation
import GeomatchClient

/// Shows matches on the main actor, as an app does.
@MainActor
final class MatchScreen: MatchMonitorDelegate {
    private(set) var rows: [String] = []

    func matchMonitor(_ monitor: MatchMonitor, didFind match: GeoMatch) {
        rows.append("\(match.event) \(match.publication.topic)")
    }

    func matchMonitor(_ monitor: MatchMonitor, didNotice event: MatchEvent) {
        if case .monitoringFailed(let device, let error) = event { rows.append("\(device): \(error.message)") }
    }
}

/// The device this app runs on is created once and remembered in a file.
func startMonitoring(_ client: GeomatchClient, folder: URL, screen: MatchScreen) async throws -> (MainDevice, MatchMonitor) {
    let phone = try await MainDevice.start(
        client, file: folder.appendingPathComponent("main-device.json"), or: .mobile(name: "My phone"))
    let monitor = MatchMonitor(client)
    monitor.delegate = screen
    try await monitor.start(phone.id)
    try await phone.update(GeoLocation(latitude: 43.7303, longitude: 7.4203, horizontalAccuracy: 8))
    return (phone, monitor)
}
