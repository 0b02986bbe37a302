// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let swiftSettings: [SwiftSetting] = [
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0335-existential-any.md
    .enableUpcomingFeature("ExistentialAny"),
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0409-access-level-on-imports.md
    .enableUpcomingFeature("InternalImportsByDefault"),
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0444-member-import-visibility.md
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

let cSettings: [CSetting] = [
    .define("_GNU_SOURCE"),
    .enableWarning("all"),
    .enableWarning("extra"),
    .treatAllWarnings(as: .error),
]

let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

func library(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: swiftSettings)
}

func cLibrary(_ name: String) -> Target {
    .target(name: name, cSettings: cSettings)
}

func sampleApp(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .executableTarget(
        name: name,
        dependencies: ["Watchdog"] + dependencies,
        path: "Sources/SampleApps/\(name)",
        swiftSettings: swiftSettings
    )
}

/// An app that tells a story, with a screen, a server and real work.
func storyApp(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .executableTarget(
        name: name,
        dependencies: ["Watchdog", "SampleSupport"] + dependencies,
        path: "Sources/SampleApps/\(name)",
        swiftSettings: swiftSettings
    )
}

func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: swiftSettings)
}

let package = Package(
    name: "watchdogd",
    products: [
        .library(name: "Watchdog", targets: ["Watchdog"]),
        .executable(name: "watchdogd", targets: ["watchdogd"]),
        .executable(name: "watchdogd-symbolicate", targets: ["watchdogd-symbolicate"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2")
    ],
    targets: [
        // MARK: What an app links
        library("Watchdog", ["WatchdogWire"]),
        library("WatchdogWire"),

        // MARK: Pure core
        library("WatchdogPolicy"),
        library("WatchdogReport", ["WatchdogPolicy"]),
        library("WatchdogConfiguration", ["WatchdogPolicy"]),

        // MARK: Linux
        cLibrary("CLinux"),
        cLibrary("CSnapshot"),
        cLibrary("CWorker"),
        .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
        .systemLibrary(name: "CElfutils", pkgConfig: "libdw", providers: [.apt(["libdw-dev"])]),
        library("WatchdogLinux", ["WatchdogPolicy", "CLinux", "CSystemd"]),
        library("WatchdogCapture", ["WatchdogReport", "WatchdogLinux", "CSnapshot"]),
        library(
            "WatchdogSymbolication", ["WatchdogReport", "WatchdogLinux", "WatchdogCapture", "CElfutils", "CWorker"]),

        // MARK: The control interface
        library("WatchdogControl", ["WatchdogPolicy", "WatchdogLinux", "CLinux"]),

        // MARK: The shell
        library(
            "WatchdogSupervisor",
            ["WatchdogPolicy", "WatchdogWire", "WatchdogLinux", "WatchdogCapture", "WatchdogReport"]
                + ["WatchdogConfiguration", "WatchdogControl"]
        ),

        // MARK: A bad network
        library("NetworkConditioner", ["WatchdogPolicy"]),

        // MARK: Executables
        .executableTarget(
            name: "watchdogd",
            dependencies: [
                "WatchdogSupervisor", "WatchdogConfiguration", "WatchdogControl", "WatchdogReport", "WatchdogLinux",
                "WatchdogPolicy", "NetworkConditioner", argumentParser,
            ],
            swiftSettings: swiftSettings
        ),
        .executableTarget(
            name: "watchdogd-symbolicate",
            dependencies: ["WatchdogSymbolication"],
            swiftSettings: swiftSettings
        ),

        // MARK: Sample apps
        sampleApp("HealthyApp"),
        sampleApp("SlowLaunch"),
        sampleApp("HangMain"),
        sampleApp("IgnoresTerm"),
        sampleApp("ForkingApp"),
        sampleApp("SlowExit"),
        sampleApp("BackgroundSaver", ["CSQLite"]),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        cLibrary("CSampleThread"),
        library(
            "SampleSupport",
            ["Watchdog", "WatchdogPolicy", "NetworkConditioner", "CSampleThread", "CSQLite", "CZlib"]
        ),
        storyApp("PhotoServer", ["NetworkConditioner", "WatchdogPolicy"]),
        cLibrary("CPhotoStamp"),
        cLibrary("CSuperfastLog"),
        library("StarSearcherStory", ["SampleSupport", "Watchdog"]),
        storyApp("StarSearcher", ["StarSearcherStory"]),
        storyApp("StarSearcherWithLogger", ["StarSearcherStory", "CSuperfastLog"]),
        storyApp("Stocks"),
        storyApp("Glassboard"),
        storyApp("QuickPick", ["CPhotoStamp", "NetworkConditioner"]),

        // MARK: Tests
        tests("WatchdogWireTests", ["WatchdogWire"]),
        tests(
            "WatchdogTests",
            ["Watchdog", "WatchdogWire"] + ["HealthyApp", "SlowLaunch", "HangMain", "IgnoresTerm", "ForkingApp"]
                + ["SlowExit", "BackgroundSaver"]
        ),
        tests("WatchdogPolicyTests", ["WatchdogPolicy"]),
        tests("WatchdogConfigurationTests", ["WatchdogConfiguration", "WatchdogPolicy"], exclude: ["Goldens"]),
        tests("WatchdogReportTests", ["WatchdogReport", "WatchdogPolicy"], exclude: ["Goldens"]),
        tests("WatchdogLinuxTests", ["WatchdogLinux", "WatchdogPolicy"], exclude: ["Subjects"]),
        tests("WatchdogCaptureTests", ["WatchdogCapture", "WatchdogReport", "WatchdogLinux"]),
        tests(
            "WatchdogSymbolicationTests",
            ["WatchdogSymbolication", "WatchdogCapture", "WatchdogReport", "WatchdogPolicy", "CElfutils"]
                + ["CWorker", "watchdogd-symbolicate"],
            exclude: ["Subjects"]
        ),
        tests(
            "WatchdogControlTests",
            ["WatchdogControl", "WatchdogLinux", "WatchdogPolicy"],
            exclude: ["Goldens"]
        ),
        tests(
            "WatchdogSupervisorTests",
            ["WatchdogSupervisor", "WatchdogConfiguration", "WatchdogControl", "WatchdogPolicy", "WatchdogReport"]
                + ["WatchdogLinux"]
        ),
        tests("NetworkConditionerTests", ["NetworkConditioner", "WatchdogPolicy"]),
        tests("SampleSupportTests", ["SampleSupport"]),
        tests("ArchitectureTests", []),
        tests(
            "IntegrationTests",
            [
                "WatchdogLinux", "WatchdogReport", "WatchdogPolicy", "WatchdogControl", "watchdogd",
                "watchdogd-symbolicate", "SampleSupport",
            ]
                + ["HealthyApp", "SlowLaunch", "HangMain", "IgnoresTerm", "ForkingApp", "SlowExit", "BackgroundSaver"],
            exclude: ["Subjects"]
        ),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .gnu17
)

// They measure modules that are not products: a package of their own could not import these. Benchmarks/run asks for them.
if Context.environment["WATCHDOGD_BENCHMARKS"] != nil {
    package.targets.append(
        .executableTarget(
            name: "Benchmarks",
            dependencies: ["WatchdogPolicy", "WatchdogReport", "WatchdogLinux", "WatchdogCapture", "WatchdogControl"],
            path: "Benchmarks/Sources",
            swiftSettings: swiftSettings
        )
    )
}
