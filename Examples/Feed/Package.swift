// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let package = Package(
    name: "Feed",
    dependencies: [.package(name: "watchdogd", path: "../..")],
    targets: [
        .executableTarget(name: "Feed", dependencies: [.product(name: "Watchdog", package: "watchdogd")]),
        .testTarget(
            name: "FeedTests", dependencies: ["Feed", .product(name: "WatchdogTesting", package: "watchdogd")]),
    ],
    swiftLanguageModes: [.v6]
)
