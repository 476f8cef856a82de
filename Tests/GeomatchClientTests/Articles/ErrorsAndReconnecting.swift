import GeomatchClient

/// Creates a publication and tells a person what happened.
func offer(_ draft: GeoPublication.Draft, _ client: GeomatchClient) async -> String {
    do throws(GeomatchError) {
        return "offered as \(try await client.publications.create(draft).value.id)"
    } catch {
        switch error.kind {
        case .invalid: return "\(error.field ?? "something") is wrong: \(error.message)"
        case .limit: return "there are too many already"
        case .timeout: return "nobody answered; try again later"
        case .refused, .topicRefused: return "your account may not do this"
        default: return error.message
        }
    }
}

/// What a status line shows: the connection comes and goes by itself, and only the end is final.
func followConnection(_ manager: LiveDataManager, show: @Sendable (String) -> Void) async {
    for await event in manager.events {
        switch event {
        case .stateChanged(.connected): show("live")
        case .stateChanged(.connecting): show("connecting…")
        case .failed(let error) where error.kind == .refused: show("please log in again")
        case .subscriptionFailed(let subscription, let error): show("no data for \(subscription.criteria): \(error.message)")
        default: break
        }
    }
}
