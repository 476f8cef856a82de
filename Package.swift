// swift-tools-version: 6.2
import PackageDescription

// The dependency list of each target is the architecture: the targets that decide know nothing of
// MQTT, SQLite, the clock or the log.

/// Warnings are errors of tomorrow; existentials are spelled so that their cost is seen.
let strict: [SwiftSetting] = [.enableUpcomingFeature("ExistentialAny")]

/// The engines own their memory, take no text from outside, and are tested against naive twins with every check on (debug);
/// release drops the checks, which cost the path of a position a third of its speed. Nothing that a library consumer links may
/// have this setting: a package with unsafe flags cannot be depended on by version.
let unchecked: [SwiftSetting] = strict + [.unsafeFlags(["-Ounchecked"], .when(configuration: .release))]

let package = Package(
    name: "geomatch",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "geomatchd", targets: ["geomatchd"]),
        .executable(name: "geomatch", targets: ["geomatch"]),
        .library(name: "GeomatchClient", targets: ["GeomatchClient"]),
        .executable(name: "geomatch-example", targets: ["geomatch-example"]),
        .library(name: "geomatch-broker-plugin", type: .dynamic, targets: ["CBrokerPlugin"]),
    ],
    traits: [
        .default(enabledTraits: ["SystemLibraries"]),
        .trait(
            name: "SystemLibraries",
            description: "libmosquitto and simdjson. Without them GeomatchClient speaks to the daemon's own socket only."),
    ],
    dependencies: [
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0", traits: []),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
    ],
    targets: [
        // What decides: values in, values out.
        .target(name: "CPrefetch"),
        .target(name: "EngineMemory", dependencies: ["CPrefetch"], swiftSettings: strict),
        .target(name: "Geodesy", swiftSettings: strict),
        .target(
            name: "Geofencing",
            dependencies: ["CPrefetch", "Geodesy", .product(name: "HeapModule", package: "swift-collections")],
            swiftSettings: strict),
        .target(name: "LiveTopics", swiftSettings: strict),
        .target(name: "OpeningHours", swiftSettings: strict),
        .target(name: "Ranging", dependencies: ["EngineMemory", "Geodesy"], swiftSettings: strict),
        .target(name: "Selectors", swiftSettings: strict),
        .target(name: "CircumstanceLanguage", swiftSettings: strict),
        // Who of several daemons serves which datasets.
        .target(name: "Cluster", swiftSettings: strict),
        .target(
            name: "Circumstances",
            dependencies: [
                "CPrefetch", "CircumstanceLanguage", "EngineMemory", "Geodesy",
                .product(name: "HeapModule", package: "swift-collections"),
            ],
            swiftSettings: unchecked),
        .target(
            name: "Matching",
            dependencies: [
                "CPrefetch", "EngineMemory", "Geodesy", "Selectors", .product(name: "HeapModule", package: "swift-collections"),
            ],
            swiftSettings: unchecked),
        .target(name: "Places", dependencies: ["CPrefetch", "EngineMemory", "Geodesy"], swiftSettings: unchecked),
        .target(name: "HomeAssistant", dependencies: ["LiveTopics", "Wire"], swiftSettings: strict),
        .target(
            name: "Wire",
            dependencies: ["CSimdJSON", "Geodesy", "LiveTopics", "Ranging", "Selectors"],
            swiftSettings: strict),
        // What is durable: values, how they are written, what they mean for the change feed.
        .target(
            name: "Records",
            dependencies: ["Circumstances", "Geodesy", "Geofencing", "Places", "Ranging", "Wire"],
            swiftSettings: strict),
        .target(
            name: "Datasets",
            dependencies: [
                "Circumstances", "Geodesy", "Geofencing", "LiveTopics", "Matching", "OpeningHours", "Places", "Ranging",
                "Records",
                "Selectors", "Wire",
                .product(name: "BitCollections", package: "swift-collections"),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "HeapModule", package: "swift-collections"),
            ],
            swiftSettings: strict),

        // What acts: one target for each outside thing.
        .systemLibrary(name: "CMosquitto", pkgConfig: "libmosquitto", providers: [.apt(["libmosquitto-dev"])]),
        .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .target(
            name: "CSimdJSON",
            cxxSettings: [.define("GEOMATCH_SYSTEM_LIBRARIES", .when(traits: ["SystemLibraries"]))],
            linkerSettings: [.linkedLibrary("simdjson", .when(traits: ["SystemLibraries"]))]),
        .target(name: "MQTTValues", swiftSettings: strict),
        // Memory between the embedded mosquitto and the daemon: both ends of it use this.
        .target(name: "CLiveRing"),
        .target(
            name: "MQTTLink",
            dependencies: ["CLiveRing", "CMosquitto", "MQTTValues", .product(name: "DequeModule", package: "swift-collections")],
            swiftSettings: strict),
        // Loaded by the embedded mosquitto, which has no use for Swift's runtime; nothing of ours links it.
        .target(
            name: "CBrokerPlugin",
            dependencies: ["CLiveRing"],
            linkerSettings: [.unsafeFlags(["-nostartfiles", "-static-stdlib"])]),
        .target(
            name: "Store",
            dependencies: ["CZlib", "Records", .product(name: "GRDB", package: "GRDB.swift")],
            swiftSettings: strict),
        .target(name: "PostgresStore", dependencies: ["CPostgres", "Cluster", "Records", "Store"], swiftSettings: strict),
        // What drives the deciders, and what connects them: the one loop, the doors.
        .target(
            name: "DaemonCore",
            dependencies: [
                "Datasets", "Records", "Wire",
                .product(name: "DequeModule", package: "swift-collections"), .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .target(
            name: "MQTTDoor",
            dependencies: [
                "Cluster", "DaemonCore", "Datasets", "HomeAssistant", "LiveTopics", "MQTTLink", "Records", "Wire",
                .product(name: "DequeModule", package: "swift-collections"), .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .target(
            name: "HTTPDoor",
            dependencies: [
                "CZlib", "DaemonCore", "Datasets", "LiveTopics", "Records", "Wire",
                // For requests to other nodes.
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HummingbirdHTTP2", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            resources: [.embedInCode("Page/Files")],
            swiftSettings: strict),
        // What webhooks and push services have in common: turns, connections, checked addresses.
        .target(
            name: "Posting",
            dependencies: [
                "Datasets",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict),
        .target(
            name: "Webhooks",
            dependencies: [
                "Datasets", "Posting",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict),
        .target(
            name: "Push",
            dependencies: [
                "Datasets", "Posting", "Wire",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
            ],
            swiftSettings: strict),

        // The library for Swift applications.
        .target(
            name: "GeomatchClient",
            dependencies: [
                "LiveTopics", .target(name: "MQTTLink", condition: .when(traits: ["SystemLibraries"])), "MQTTValues", "Wire",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
            ],
            swiftSettings: strict),

        // The programs.
        .executableTarget(
            name: "geomatchd",
            dependencies: [
                "Cluster", "DaemonCore", "Datasets", "HTTPDoor", "LiveTopics", "MQTTDoor", "MQTTLink", "PostgresStore", "Push",
                "Records", "Store", "Webhooks", "Wire", "Yams",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "geomatch",
            dependencies: [
                "CZlib", "Circumstances", "Geodesy", "GeomatchClient", "LiveTopics", "MQTTLink", "OpeningHours", "PostgresStore",
                "Ranging", "Selectors", "Store", "Wire",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "geomatch-bench",
            dependencies: [
                "Circumstances", "DaemonCore", "Datasets", "FlatRecording", "Geodesy", "Geofencing", "GeomatchClient",
                "LiveTopics", "MQTTLink", "Matching", "OpeningHours", "PlaceTrials", "Places", "Ranging", "Records", "Selectors",
                "Store",
                "WebhookReceiver",
                "Wire", .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Sources/Benchmarks",
            swiftSettings: unchecked),
        .executableTarget(
            name: "geomatch-example",
            dependencies: ["GeomatchClient"],
            path: "Sources/Examples/FloorFollower",
            swiftSettings: strict),

        // The tests: one folder for each target, and the programs on a real broker.
        .target(name: "Loopback", path: "Tests/Loopback", swiftSettings: strict),
        .target(name: "PlainHTTP", dependencies: ["Wire"], path: "Tests/PlainHTTP", swiftSettings: strict),
        .target(name: "PostgresServer", dependencies: ["Loopback"], path: "Tests/PostgresServer", swiftSettings: strict),
        .target(name: "SeededRandom", path: "Tests/SeededRandom"),
        .target(
            name: "PlaceTrials", dependencies: ["Geodesy", "Places"], path: "Tests/PlaceTrials", swiftSettings: unchecked),
        .target(
            name: "FlatRecording", dependencies: ["Ranging"], path: "Tests/FlatRecording", resources: [.copy("Data")],
            swiftSettings: strict),
        .target(
            name: "MemoryStore", dependencies: ["Cluster", "DaemonCore", "Datasets", "Records"], path: "Tests/MemoryStore",
            swiftSettings: strict),
        .target(
            name: "WebhookReceiver",
            dependencies: [
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            path: "Tests/WebhookReceiver",
            swiftSettings: strict),
        .testTarget(name: "EngineMemoryTests", dependencies: ["EngineMemory", "SeededRandom"]),
        .testTarget(name: "GeodesyTests", dependencies: ["Geodesy", "SeededRandom"]),
        .testTarget(name: "GeofencingTests", dependencies: ["Geodesy", "Geofencing", "SeededRandom"]),
        .testTarget(name: "LiveTopicsTests", dependencies: ["LiveTopics", "SeededRandom"]),
        .testTarget(name: "OpeningHoursTests", dependencies: ["OpeningHours", "SeededRandom"]),
        .testTarget(name: "RangingTests", dependencies: ["FlatRecording", "Geodesy", "Ranging", "SeededRandom"]),
        .testTarget(name: "SelectorsTests", dependencies: ["Selectors", "SeededRandom"]),
        .testTarget(
            name: "CircumstancesTests", dependencies: ["CircumstanceLanguage", "Circumstances", "Geodesy", "SeededRandom"]),
        .testTarget(name: "ClusterTests", dependencies: ["Cluster", "MemoryStore", "SeededRandom"]),
        .testTarget(name: "MatchingTests", dependencies: ["Geodesy", "Matching", "Selectors", "SeededRandom"]),
        .testTarget(name: "PlacesTests", dependencies: ["Geodesy", "PlaceTrials", "Places", "SeededRandom"]),
        .testTarget(name: "HomeAssistantTests", dependencies: ["HomeAssistant", "Wire"]),
        .testTarget(
            name: "WireTests", dependencies: ["CSimdJSON", "Geodesy", "LiveTopics", "Selectors", "Wire", "SeededRandom"]),
        .testTarget(
            name: "DatasetsTests",
            dependencies: [
                "Circumstances", "DaemonCore", "Datasets", "FlatRecording", "Geodesy", "LiveTopics", "MQTTDoor", "Matching",
                "MemoryStore",
                "Places", "Ranging", "Records", "SeededRandom", "Selectors", "Wire",
                .product(name: "Logging", package: "swift-log"),
            ]),
        .testTarget(
            name: "MQTTLinkTests", dependencies: ["CLiveRing", "Loopback", "MQTTLink", "SeededRandom"], exclude: ["Fuzz"]),
        .testTarget(
            name: "StoreTests",
            dependencies: [
                "Circumstances", "Cluster", "Datasets", "Geodesy", "Geofencing", "MemoryStore", "Places", "Ranging", "Records",
                "PostgresServer", "PostgresStore", "SeededRandom", "Store",
                .product(name: "GRDB", package: "GRDB.swift"),
            ]),
        .testTarget(
            name: "WebhooksTests",
            dependencies: [
                "Datasets", "Posting", "SeededRandom", "WebhookReceiver", "Webhooks",
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]),
        .testTarget(
            name: "PushTests",
            dependencies: [
                "Datasets", "Posting", "Push", "WebhookReceiver", "Wire",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
            ],
            exclude: ["Support/apns.mjs", "Support/judge.py"]),
        .testTarget(
            name: "DaemonTests",
            dependencies: [
                "DaemonCore", "Datasets", "LiveTopics", "Loopback", "MQTTDoor", "MQTTLink", "Records", "SeededRandom", "Store",
                "Wire",
                "geomatchd", .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]),
        .testTarget(
            name: "MQTTDoorTests",
            dependencies: [
                "Cluster", "DaemonCore", "Datasets", "LiveTopics", "MQTTDoor", "MQTTLink", "MemoryStore", "Records",
                "SeededRandom",
                .product(name: "Logging", package: "swift-log"),
            ]),
        .testTarget(
            name: "HTTPDoorTests",
            dependencies: [
                "DaemonCore", "Datasets", "GeomatchClient", "HTTPDoor", "MemoryStore", "PlainHTTP", "Records", "SeededRandom",
                "Wire",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]),
        .testTarget(
            name: "GeomatchClientTests",
            dependencies: [
                "DaemonCore", "Datasets", "GeomatchClient", "Loopback", "MQTTDoor", "MQTTLink", "MemoryStore", "Records",
                "SeededRandom", "Wire", .product(name: "Logging", package: "swift-log"),
            ]),
        .testTarget(
            name: "SimulationTests",
            dependencies: [
                "DaemonCore", "Datasets", "Geodesy", "LiveTopics", "MQTTDoor", "MQTTLink", "MemoryStore", "Records",
                "SeededRandom", "Wire",
                .product(name: "Logging", package: "swift-log"),
            ]),
        .testTarget(
            name: "CommandLineTests",
            dependencies: [
                "CZlib", "Geodesy", "GeomatchClient", "Loopback", "MQTTLink", "Ranging", "SeededRandom", "Wire", "geomatch",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]),
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "FlatRecording", "Geodesy", "GeomatchClient", "Loopback", "MQTTLink", "PlainHTTP", "PostgresServer", "Ranging",
                "SeededRandom", "WebhookReceiver", "Wire",
            ],
            resources: [.copy("Data")]),
    ],
    swiftLanguageModes: [.v6]
)
