/// Who asks.
struct RequestingClient {
    var name: String
    var isAdministrator: Bool
}
