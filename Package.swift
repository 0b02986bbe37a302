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
    .testTarget(
        name: name, dependencies: ["TestSupport"] + dependencies, exclude: exclude, swiftSettings: swiftSettings)
}

let package = Package(
    name: "watchdogd",
    products: [
        .library(name: "Watchdog", targets: ["Watchdog"]),
        .library(name: "WatchdogTesting", targets: ["WatchdogTesting"]),
        .executable(name: "watchdogd", targets: ["watchdogd"]),
        .executable(name: "watchdogd-symbolicate", targets: ["watchdogd-symbolicate"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2")
    ],
    targets: [
        // MARK: What an app links
        library("Watchdog", ["WatchdogBase", "WatchdogWire"]),
        library("WatchdogWire"),
        library("WatchdogBase"),

        // MARK: Pure core
        library("WatchdogPolicy", ["WatchdogBase"]),
        library("WatchdogVerdict", ["WatchdogBase"]),
        library("WatchdogReport", ["WatchdogBase", "WatchdogPolicy", "WatchdogVerdict"]),
        library(
            "WatchdogRendering",
            ["WatchdogBase", "WatchdogPolicy", "WatchdogVerdict", "WatchdogReport", "WatchdogRecording"]
        ),
        library("WatchdogReportStore", ["WatchdogBase", "WatchdogReport"]),
        library("WatchdogConfiguration", ["WatchdogBase", "WatchdogPolicy"]),
        library("WatchdogImport", ["WatchdogBase", "WatchdogConfiguration", "WatchdogMeasurement"]),
        library("WatchdogMetrics", ["WatchdogBase", "WatchdogPolicy", "WatchdogVerdict"]),
        library("WatchdogRecording", ["WatchdogBase"]),
        library("WatchdogMeasurement", ["WatchdogBase"]),
        library("WatchdogSimulation", ["WatchdogBase", "WatchdogPolicy", "WatchdogReport"]),

        // MARK: The fleet
        library("WatchdogOrganizer", ["WatchdogBase", "WatchdogReport", "WatchdogRendering"]),

        // MARK: Linux
        cLibrary("CLinux"),
        cLibrary("CSnapshot"),
        cLibrary("CWorker"),
        cLibrary("CSystemd"),
        cLibrary("CElfutils"),
        library("WatchdogLinux", ["WatchdogBase", "CLinux", "CSystemd"]),
        library(
            "WatchdogCapture",
            ["WatchdogBase", "WatchdogReport", "WatchdogVerdict", "WatchdogLinux", "CSnapshot"]
        ),
        library(
            "WatchdogSymbolication",
            [
                "WatchdogBase", "WatchdogReport", "WatchdogVerdict", "WatchdogLinux", "WatchdogCapture", "CElfutils",
                "CWorker",
            ]
        ),

        // MARK: Recordings
        cLibrary("CRecorder"),
        library(
            "WatchdogRecorder",
            ["WatchdogBase", "WatchdogLinux", "WatchdogRecording", "WatchdogVerdict", "WatchdogWire", "CRecorder"]
                + ["WatchdogCapture", "WatchdogReport"]
        ),

        // MARK: Measuring launches
        library(
            "WatchdogMeasuring", ["WatchdogBase", "WatchdogWire", "WatchdogMeasurement", "WatchdogLinux", "CLinux"]),

        // MARK: Clients of the channel
        library("WatchdogConformance", ["WatchdogBase", "WatchdogWire", "WatchdogLinux"]),

        // MARK: Reports of many hosts
        library(
            "WatchdogReportArchive",
            ["WatchdogBase", "WatchdogReport", "WatchdogReportStore", "WatchdogRendering", "WatchdogLinux"]
        ),

        // MARK: The history
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        library("WatchdogHistory", ["WatchdogBase", "WatchdogLinux", "CSQLite"]),

        // MARK: The control interface
        library("WatchdogControl", ["WatchdogBase", "WatchdogPolicy", "WatchdogLinux", "CLinux"]),

        // MARK: The shell
        library("WatchdogRemote"),
        library("WatchdogConversation", ["WatchdogWire", "WatchdogPolicy", "WatchdogBase"]),
        library(
            "WatchdogSupervisor",
            [
                "WatchdogRemote", "WatchdogConversation", "WatchdogBase", "WatchdogPolicy", "WatchdogWire",
                "WatchdogLinux", "WatchdogCapture", "WatchdogReport",
            ]
                + ["WatchdogConfiguration", "WatchdogControl", "WatchdogVerdict", "WatchdogRendering"]
                + ["WatchdogReportStore", "WatchdogHistory", "WatchdogMetrics", "WatchdogSimulation"]
                + ["WatchdogRecording", "WatchdogRecorder"]
                + ["NetworkConditioner"]
        ),

        // MARK: A bad network
        library("NetworkConditioner", ["WatchdogBase"]),

        // MARK: Executables
        .executableTarget(
            name: "watchdogd",
            dependencies: [
                "WatchdogSupervisor", "WatchdogConfiguration", "WatchdogControl", "WatchdogReport", "WatchdogLinux",
                "WatchdogRendering", "WatchdogReportStore", "WatchdogBase", "WatchdogPolicy", "NetworkConditioner",
                "WatchdogRecording", "WatchdogRecorder", "WatchdogMeasurement", "WatchdogMeasuring", "WatchdogHistory",
                "WatchdogConformance", "WatchdogImport", "WatchdogReportArchive", "WatchdogSimulation",
                "WatchdogOrganizer", "WatchdogSymbolication",
                argumentParser,
            ],
            swiftSettings: swiftSettings
        ),
        .executableTarget(
            name: "watchdogd-symbolicate",
            dependencies: ["WatchdogSymbolication"],
            swiftSettings: swiftSettings
        ),

        // MARK: The test kit
        // The executables are built beside the tests that drive them.
        cLibrary("CTesting"),
        library(
            "WatchdogTesting",
            ["Watchdog", "WatchdogWire", "WatchdogBase", "WatchdogPolicy", "WatchdogVerdict", "WatchdogReport"]
                + ["WatchdogRemote", "WatchdogConversation", "CTesting", "watchdogd", "watchdogd-symbolicate"]
        ),

        // MARK: Sample apps
        sampleApp("HealthyApp"),
        sampleApp("SlowLaunch"),
        sampleApp("HangMain"),
        sampleApp("IgnoresTerm"),
        sampleApp("ForkingApp"),
        sampleApp("SlowExit"),
        sampleApp("BackgroundSaver", ["CSQLite"]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        cLibrary("CSampleThread"),
        library(
            "SampleSupport",
            ["Watchdog", "WatchdogBase", "NetworkConditioner", "CSampleThread", "CSQLite", "CZlib"]
        ),
        storyApp("PhotoServer", ["NetworkConditioner", "WatchdogBase"]),
        cLibrary("CPhotoStamp"),
        cLibrary("CSuperfastLog"),
        library("StarSearcherStory", ["SampleSupport", "Watchdog"]),
        storyApp("StarSearcher", ["StarSearcherStory"]),
        storyApp("StarSearcherWithLogger", ["StarSearcherStory", "CSuperfastLog"]),
        storyApp("Stocks"),
        storyApp("Glassboard"),
        storyApp("QuickPick", ["CPhotoStamp", "NetworkConditioner"]),

        // MARK: Examples
        .executableTarget(
            name: "Feed", dependencies: ["Watchdog"], path: "Examples/Feed/Sources/Feed",
            swiftSettings: [
                .treatAllWarnings(as: .error)
            ]),
        .testTarget(
            name: "FeedTests", dependencies: ["Feed", "WatchdogTesting"], path: "Examples/Feed/Tests/FeedTests",
            swiftSettings: [.treatAllWarnings(as: .error)]),

        // MARK: Tests
        .target(name: "TestSupport", path: "Tests/TestSupport", swiftSettings: swiftSettings),
        tests("WatchdogWireTests", ["WatchdogWire"]),
        tests(
            "WatchdogTests",
            ["Watchdog", "WatchdogWire", "CLinux"] + [
                "HealthyApp", "SlowLaunch", "HangMain", "IgnoresTerm", "ForkingApp",
            ]
                + ["SlowExit", "BackgroundSaver"]
        ),
        tests("WatchdogBaseTests", ["WatchdogBase"]),
        tests("WatchdogPolicyTests", ["WatchdogBase", "WatchdogPolicy"]),
        tests(
            "WatchdogMetricsTests", ["WatchdogMetrics", "WatchdogBase", "WatchdogPolicy", "WatchdogVerdict"],
            exclude: ["Goldens"]
        ),
        tests(
            "WatchdogOrganizerTests",
            ["WatchdogOrganizer", "WatchdogRendering", "WatchdogReport", "WatchdogBase"]
                + ["ReportFixtures"],
            exclude: ["Goldens"]
        ),
        tests("WatchdogRecordingTests", ["WatchdogRecording", "WatchdogBase"]),
        tests(
            "WatchdogSimulationTests", ["WatchdogSimulation", "WatchdogBase", "WatchdogPolicy"]),
        tests("WatchdogMeasurementTests", ["WatchdogMeasurement", "WatchdogBase"]),
        tests(
            "WatchdogRecorderTests",
            ["WatchdogRecorder", "WatchdogRecording", "WatchdogLinux", "WatchdogBase", "CRecorder"]
                + ["WatchdogCapture", "watchdogd-symbolicate"]
        ),
        tests(
            "WatchdogConfigurationTests",
            ["WatchdogConfiguration", "WatchdogBase", "WatchdogPolicy"],
            exclude: ["Goldens"]
        ),
        tests(
            "WatchdogImportTests",
            ["WatchdogImport", "WatchdogConfiguration", "WatchdogBase", "WatchdogMeasurement"],
            exclude: ["Fixtures"]),
        .target(
            name: "ReportFixtures",
            dependencies: [
                "WatchdogBase", "WatchdogPolicy", "WatchdogVerdict", "WatchdogReport", "WatchdogRecording",
            ],
            path: "Tests/ReportFixtures",
            swiftSettings: swiftSettings
        ),
        tests("WatchdogVerdictTests", ["WatchdogVerdict", "WatchdogReport", "WatchdogBase", "ReportFixtures"]),
        tests(
            "WatchdogReportTests",
            [
                "WatchdogReport", "WatchdogVerdict", "WatchdogRendering", "WatchdogBase",
                "WatchdogPolicy",
            ]
                + ["ReportFixtures"]
        ),
        tests(
            "WatchdogRenderingTests",
            ["WatchdogRendering", "WatchdogReport", "WatchdogVerdict", "WatchdogBase", "WatchdogPolicy"]
                + ["WatchdogRecording", "ReportFixtures", "CLinux"],
            exclude: ["Goldens"]
        ),
        tests("WatchdogReportStoreTests", ["WatchdogReportStore", "WatchdogReport", "WatchdogBase", "ReportFixtures"]),
        tests(
            "WatchdogReportArchiveTests",
            [
                "WatchdogReportArchive", "WatchdogReportStore", "WatchdogRendering", "WatchdogReport",
                "WatchdogLinux", "WatchdogBase", "ReportFixtures",
            ]
        ),
        tests("WatchdogLinuxTests", ["WatchdogLinux", "WatchdogBase", "CLinux"], exclude: ["Subjects"]),
        tests(
            "WatchdogCaptureTests",
            ["WatchdogCapture", "WatchdogBase", "WatchdogVerdict", "WatchdogReport", "WatchdogLinux"]
                + ["CLinux"]
        ),
        tests(
            "WatchdogSymbolicationTests",
            [
                "WatchdogSymbolication", "WatchdogCapture", "WatchdogLinux", "WatchdogVerdict",
                "WatchdogReport",
                "WatchdogBase", "CElfutils", "CLinux",
            ]
                + ["CWorker", "watchdogd-symbolicate"],
            exclude: ["Subjects"]
        ),
        tests(
            "WatchdogControlTests",
            ["WatchdogControl", "WatchdogLinux", "WatchdogBase", "WatchdogPolicy"],
            exclude: ["Goldens"]
        ),
        tests(
            "WatchdogSupervisorTests",
            [
                "WatchdogSupervisor", "WatchdogConfiguration", "WatchdogControl", "WatchdogPolicy",
                "WatchdogReport",
            ]
                + [
                    "WatchdogLinux", "WatchdogBase", "WatchdogVerdict", "WatchdogRendering", "ReportFixtures",
                    "WatchdogReportStore", "WatchdogCapture", "WatchdogHistory", "WatchdogSimulation",
                ]
                + ["WatchdogWire", "WatchdogMetrics"],
            exclude: ["Fixtures"]
        ),
        tests(
            "WatchdogHistoryTests", ["WatchdogHistory", "WatchdogLinux", "WatchdogBase", "CSQLite"],
            exclude: ["Goldens", "Fixtures"]),
        tests("WatchdogConformanceTests", ["WatchdogConformance", "WatchdogWire", "WatchdogBase", "WatchdogLinux"]),
        tests("WatchdogRemoteTests", ["WatchdogRemote"]),
        tests(
            "WatchdogTestingTests",
            [
                "WatchdogTesting", "Watchdog", "WatchdogLinux", "HealthyApp", "SlowLaunch", "HangMain", "IgnoresTerm",
                "BackgroundSaver",
            ]
        ),
        tests("NetworkConditionerTests", ["NetworkConditioner", "WatchdogBase"]),
        tests("SampleSupportTests", ["SampleSupport"]),
        tests("ArchitectureTests", []),
        tests(
            "IntegrationTests",
            [
                "WatchdogLinux", "WatchdogVerdict", "WatchdogReport", "WatchdogReportStore", "WatchdogRendering",
                "WatchdogBase", "WatchdogPolicy", "WatchdogControl", "WatchdogRecording", "WatchdogMeasuring",
                "WatchdogMeasurement", "ReportFixtures", "watchdogd",
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
            dependencies: [
                "WatchdogBase", "WatchdogPolicy", "WatchdogVerdict", "WatchdogReport", "WatchdogRendering",
                "WatchdogReportStore",
                "WatchdogLinux", "WatchdogCapture",
                "WatchdogControl",
            ],
            path: "Benchmarks/Sources",
            swiftSettings: swiftSettings
        )
    )
}

// scripts/sanitize asks for the layers that handle memory by hand, or share it between threads.
if let sanitizer = Context.environment["WATCHDOGD_SANITIZE"] {
    let layers: Set =
        sanitizer == "thread"
        ? ["WatchdogBaseTests", "WatchdogLinuxTests", "WatchdogControlTests"]
        : [
            "WatchdogBaseTests", "WatchdogWireTests", "WatchdogLinuxTests", "WatchdogCaptureTests",
            "WatchdogReportStoreTests",
        ]
    var needed = layers
    var unvisited = Array(layers)
    while let name = unvisited.popLast() {
        for dependency in package.targets.first(where: { $0.name == name })?.dependencies ?? [] {
            switch dependency {
            case .targetItem(let name, _), .byNameItem(let name, _):
                if needed.insert(name).inserted { unvisited.append(name) }
            default: break
            }
        }
    }
    package.products = []
    package.targets.removeAll { !needed.contains($0.name) }
}
