/// Runs `body` with a client, and closes it whatever happens.
///
/// ```swift
/// try await withGeomatchClient(broker: "mqtt://127.0.0.1:1883", dataset: "demo", client: "me") { client in
///     print(try await client.dataset.get())
/// }
/// ```
public func withGeomatchClient<Result>(
    _ configuration: GeomatchConfiguration, isolation: isolated (any Actor)? = #isolation,
    _ body: (GeomatchClient) async throws -> Result
) async throws -> Result {
    let client = try GeomatchClient(configuration)
    do {
        let result = try await body(client)
        await client.close()
        return result
    } catch {
        await client.close()
        throw error
    }
}

/// Runs `body` with a client, and closes it whatever happens.
public func withGeomatchClient<Result>(
    broker: String, dataset: String, client: String? = nil, isolation: isolated (any Actor)? = #isolation,
    _ body: (GeomatchClient) async throws -> Result
) async throws -> Result {
    try await withGeomatchClient(
        GeomatchConfiguration(broker: broker, dataset: dataset, client: client), isolation: isolation, body)
}
