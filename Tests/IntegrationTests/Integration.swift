import Testing

/// The built programs on a real mosquitto. One after the other: each test wants both cores.
@Suite("The daemon on a real broker", .serialized, .timeLimit(.minutes(5)))
enum Integration {}
