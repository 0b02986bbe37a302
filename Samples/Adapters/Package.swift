// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

// Adapters of the Watchdog library to frameworks with main loops of their own. A package apart, so that neither the library
// nor watchdogd fetches or builds those frameworks.

import PackageDescription

let swiftSettings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

let watchdog = Target.Dependency.product(name: "Watchdog", package: "watchdogd")

let package = Package(
    name: "adapters",
    dependencies: [
        .package(name: "watchdogd", path: "../.."),
        .package(url: "https://github.com/apple/swift-nio", from: "2.86.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
    ],
    targets: [
        .target(name: "WatchdogWakeups", dependencies: [watchdog], swiftSettings: swiftSettings),
        .target(
            name: "WatchdogNIO",
            dependencies: ["WatchdogWakeups", watchdog, .product(name: "NIOCore", package: "swift-nio")],
            swiftSettings: swiftSettings
        ),
        .target(
            name: "WatchdogLifecycle",
            dependencies: [
                "WatchdogWakeups", watchdog, .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: swiftSettings
        ),
        .executableTarget(
            name: "EchoServer",
            dependencies: [
                "WatchdogNIO", watchdog,
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: swiftSettings
        ),
        .executableTarget(
            name: "Ticker",
            dependencies: [
                "WatchdogLifecycle", watchdog,
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: swiftSettings
        ),
        .testTarget(name: "AdapterTests", dependencies: ["EchoServer", "Ticker"], swiftSettings: swiftSettings),
    ],
    swiftLanguageModes: [.v6]
)
