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

func library(_ name: String, in folder: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, path: "Sources/\(folder)/\(name)", swiftSettings: swiftSettings)
}

func cLibrary(_ name: String, in folder: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, path: "Sources/\(folder)/\(name)", cSettings: cSettings)
}

func systemLibrary(_ name: String, in folder: String, _ pkgConfig: String, _ package: String) -> Target {
    .systemLibrary(
        name: name, path: "Sources/\(folder)/\(name)", pkgConfig: pkgConfig, providers: [.apt([package])])
}

func executable(_ name: String, in folder: String = "Sources", _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(
        name: name, dependencies: dependencies, path: "\(folder)/\(name)", swiftSettings: swiftSettings)
}

func sampleApp(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    executable(name, in: "Sources/SampleApps", ["Watchdog"] + dependencies)
}

func tests(_ name: String, exclude: [String] = [], _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(
        name: name, dependencies: ["TestSupport"] + dependencies, exclude: exclude, swiftSettings: swiftSettings)
}

/// Those that the tests launch.
let testedApps: [Target.Dependency] = [
    "HealthyApp", "SlowLaunch", "HangMain", "IgnoresTerm", "ForkingApp", "SlowExit", "BackgroundSaver",
]

let package = Package(
    name: "watchdogd",
    products: [
        .library(name: "Watchdog", targets: ["Watchdog"]),
        .library(name: "WatchdogTesting", targets: ["WatchdogTesting"]),
        .executable(name: "watchdogd", targets: ["watchdogd"]),
        .executable(name: "watchdogd-symbolicate", targets: ["watchdogd-symbolicate"]),
        // For StarSearcher, which loads it: as a dependency of a target it would be linked statically.
        .library(name: "SuperfastLog", type: .dynamic, targets: ["CSuperfastLog"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2")
    ],
    targets: [
        // MARK: What an app links
        .target(name: "Watchdog", dependencies: ["WatchdogBase", "WatchdogWire"], swiftSettings: swiftSettings),

        // MARK: What decides: pure
        library("WatchdogBase", in: "1-Decide"),
        library("WatchdogWire", in: "1-Decide"),
        library("WatchdogPolicy", in: "1-Decide", ["WatchdogBase"]),
        library("WatchdogConfiguration", in: "1-Decide", ["WatchdogBase", "WatchdogPolicy"]),
        library("WatchdogVerdict", in: "1-Decide", ["WatchdogBase"]),
        library("WatchdogConversation", in: "1-Decide", ["WatchdogWire", "WatchdogPolicy"]),

        // MARK: Linux
        cLibrary("CLinux", in: "2-Linux"),
        cLibrary("CSystemd", in: "2-Linux", ["CLinux"]),
        library("WatchdogLinux", in: "2-Linux", ["WatchdogBase", "CLinux", "CSystemd"]),

        // MARK: The stacks, and their names
        cLibrary("CSnapshot", in: "3-Capture"),
        library(
            "WatchdogCapture", in: "3-Capture",
            ["WatchdogBase", "WatchdogReport", "WatchdogVerdict", "WatchdogLinux", "CSnapshot"]),
        cLibrary("CSymbolication", in: "3-Capture", ["CLinux"]),
        library(
            "WatchdogSymbolication", in: "3-Capture",
            [
                "WatchdogBase", "WatchdogReport", "WatchdogVerdict", "WatchdogLinux", "WatchdogCapture",
                "CSymbolication",
            ]),
        executable("watchdogd-symbolicate", in: "Sources/3-Capture", ["WatchdogSymbolication"]),

        // MARK: Launches, and who supervises them
        cLibrary("CRecorder", in: "4-Supervise"),
        library(
            "WatchdogRecording", in: "4-Supervise",
            [
                "WatchdogBase", "WatchdogWire", "WatchdogVerdict", "WatchdogReport", "WatchdogLinux", "WatchdogCapture",
                "WatchdogRendering", "CRecorder",
            ]),
        cLibrary("CSQLite", in: "4-Supervise", ["CLinux"]),
        library("WatchdogHistory", in: "4-Supervise", ["WatchdogBase", "WatchdogLinux", "CSQLite"]),
        library("WatchdogMetrics", in: "4-Supervise", ["WatchdogBase", "WatchdogPolicy", "WatchdogVerdict"]),
        library("WatchdogControl", in: "4-Supervise", ["WatchdogBase", "WatchdogPolicy", "WatchdogLinux", "CLinux"]),
        library(
            "WatchdogLaunch", in: "4-Supervise",
            [
                "WatchdogBase", "WatchdogWire", "WatchdogPolicy", "WatchdogConfiguration", "WatchdogVerdict",
                "WatchdogConversation", "WatchdogLinux", "WatchdogCapture", "WatchdogRecording", "WatchdogControl",
                "WatchdogReport", "WatchdogReportStore", "WatchdogRendering",
            ]),
        library(
            "WatchdogDaemon", in: "4-Supervise",
            [
                "WatchdogBase", "WatchdogWire", "WatchdogPolicy", "WatchdogConfiguration", "WatchdogVerdict",
                "WatchdogLinux", "WatchdogCapture", "WatchdogRecording", "WatchdogHistory", "WatchdogMetrics",
                "WatchdogControl", "WatchdogLaunch", "WatchdogReport", "WatchdogReportStore", "WatchdogRendering",
            ]),
        library(
            "WatchdogRun", in: "4-Supervise",
            [
                "WatchdogBase", "WatchdogWire", "WatchdogPolicy", "WatchdogConfiguration", "WatchdogVerdict",
                "WatchdogConversation", "WatchdogLinux", "WatchdogCapture", "WatchdogRecording", "WatchdogHistory",
                "WatchdogMetrics", "WatchdogControl", "WatchdogLaunch", "WatchdogDaemon", "WatchdogReport",
                "WatchdogReportStore", "WatchdogRendering",
            ]),

        // MARK: The report
        library("WatchdogReport", in: "5-Report", ["WatchdogBase", "WatchdogPolicy", "WatchdogVerdict"]),
        library("WatchdogReportStore", in: "5-Report", ["WatchdogBase", "WatchdogLinux", "WatchdogReport"]),
        library(
            "WatchdogRendering", in: "5-Report",
            ["WatchdogBase", "WatchdogPolicy", "WatchdogVerdict", "WatchdogReport"]),

        // MARK: The command line
        library(
            "WatchdogCommands", in: "6-CommandLine",
            [
                "WatchdogBase", "WatchdogPolicy", "WatchdogConfiguration", "WatchdogLinux", "WatchdogSymbolication",
                "WatchdogRecording", "WatchdogHistory", "WatchdogControl", "WatchdogLaunch", "WatchdogDaemon",
                "WatchdogRun", "WatchdogReport",
                "WatchdogReportStore", "WatchdogRendering", "WatchdogMeasurement", "WatchdogConformance",
                "WatchdogImport", "WatchdogSimulation", "WatchdogFleet", "NetworkConditioner", argumentParser,
            ]),
        executable("watchdogd", ["WatchdogCommands"]),

        // MARK: Guests: commands of their own, which no part of the above needs to supervise
        library("WatchdogMeasurement", in: "Guests", ["WatchdogBase", "WatchdogWire", "WatchdogLinux", "CLinux"]),
        library("WatchdogImport", in: "Guests", ["WatchdogBase", "WatchdogConfiguration", "WatchdogMeasurement"]),
        library(
            "WatchdogSimulation", in: "Guests",
            [
                "WatchdogBase", "WatchdogPolicy", "WatchdogConfiguration", "WatchdogLinux", "WatchdogHistory",
                "WatchdogLaunch", "WatchdogReport", "WatchdogReportStore",
            ]),
        library("NetworkConditioner", in: "Guests", ["WatchdogBase"]),
        library("WatchdogConformance", in: "Guests", ["WatchdogBase", "WatchdogWire", "WatchdogLinux"]),
        library(
            "WatchdogFleet", in: "Guests",
            ["WatchdogBase", "WatchdogReport", "WatchdogReportStore", "WatchdogRendering", "WatchdogLinux"]),

        // MARK: The test kit: the executables are built beside the tests that drive them
        cLibrary("CTesting", in: "TestKit"),
        library(
            "WatchdogTesting", in: "TestKit",
            [
                "Watchdog", "WatchdogWire", "WatchdogBase", "WatchdogPolicy", "WatchdogVerdict", "WatchdogReport",
                "WatchdogConversation", "CTesting", "watchdogd", "watchdogd-symbolicate",
            ]),

        // MARK: Sample apps
        sampleApp("HealthyApp"),
        sampleApp("SlowLaunch"),
        sampleApp("HangMain"),
        sampleApp("IgnoresTerm"),
        sampleApp("ForkingApp"),
        sampleApp("SlowExit"),
        sampleApp("BackgroundSaver", ["CSampleSQLite"]),
        // Those that tell a story have a screen, a server and real work.
        systemLibrary("CSampleSQLite", in: "SampleApps", "sqlite3", "libsqlite3-dev"),
        systemLibrary("CZlib", in: "SampleApps", "zlib", "zlib1g-dev"),
        cLibrary("CSampleThread", in: "SampleApps"),
        cLibrary("CPhotoStamp", in: "SampleApps"),
        cLibrary("CSuperfastLog", in: "SampleApps"),
        library(
            "SampleSupport", in: "SampleApps",
            ["Watchdog", "WatchdogBase", "NetworkConditioner", "CSampleThread", "CSampleSQLite", "CZlib"]),
        sampleApp("PhotoServer", ["SampleSupport", "NetworkConditioner", "WatchdogBase"]),
        sampleApp("StarSearcher", ["SampleSupport"]),
        sampleApp("Stocks", ["SampleSupport"]),
        sampleApp("Glassboard", ["SampleSupport"]),
        sampleApp("QuickPick", ["SampleSupport", "CPhotoStamp", "NetworkConditioner"]),

        // MARK: Examples
        .executableTarget(
            name: "Feed", dependencies: ["Watchdog"], path: "Examples/Feed/Sources/Feed",
            swiftSettings: [.treatAllWarnings(as: .error)]),
        .testTarget(
            name: "FeedTests", dependencies: ["Feed", "WatchdogTesting"], path: "Examples/Feed/Tests/FeedTests",
            swiftSettings: [.treatAllWarnings(as: .error)]),

        // MARK: Tests
        .target(name: "TestSupport", path: "Tests/TestSupport", swiftSettings: swiftSettings),
        .target(
            name: "ReportFixtures",
            dependencies: ["WatchdogBase", "WatchdogPolicy", "WatchdogVerdict", "WatchdogReport", "WatchdogRecording"],
            path: "Tests/ReportFixtures", swiftSettings: swiftSettings),
        tests("ArchitectureTests", []),
        tests("WatchdogTests", ["WatchdogWire", "Watchdog", "CLinux"] + testedApps),
        tests("WatchdogWireTests", ["WatchdogWire"]),
        tests("WatchdogBaseTests", ["WatchdogBase"]),
        tests("WatchdogPolicyTests", ["WatchdogBase", "WatchdogPolicy"]),
        tests(
            "WatchdogConfigurationTests", exclude: ["Goldens"],
            ["WatchdogBase", "WatchdogPolicy", "WatchdogConfiguration"]),
        tests("WatchdogConversationTests", ["WatchdogConversation"]),
        tests("WatchdogVerdictTests", ["WatchdogBase", "WatchdogReport", "WatchdogVerdict", "ReportFixtures"]),
        tests("WatchdogLinuxTests", exclude: ["Subjects"], ["CLinux", "WatchdogBase", "WatchdogLinux"]),
        tests(
            "WatchdogCaptureTests",
            ["CLinux", "WatchdogBase", "WatchdogLinux", "WatchdogReport", "WatchdogVerdict", "WatchdogCapture"]),
        tests(
            "WatchdogSymbolicationTests", exclude: ["Subjects"],
            [
                "CLinux", "CSymbolication", "WatchdogBase", "WatchdogCapture", "WatchdogLinux", "WatchdogReport",
                "WatchdogVerdict", "WatchdogSymbolication", "watchdogd-symbolicate",
            ]),
        tests(
            "WatchdogRecordingTests",
            [
                "CRecorder", "WatchdogBase", "WatchdogCapture", "WatchdogLinux", "WatchdogReport", "WatchdogRecording",
                "watchdogd-symbolicate",
            ]),
        tests(
            "WatchdogHistoryTests", exclude: ["Goldens", "Fixtures"],
            ["CSQLite", "WatchdogBase", "WatchdogLinux", "WatchdogHistory"]),
        tests(
            "WatchdogMetricsTests", exclude: ["Goldens"],
            ["WatchdogBase", "WatchdogPolicy", "WatchdogVerdict", "WatchdogMetrics"]),
        tests(
            "WatchdogControlTests", exclude: ["Goldens"],
            ["WatchdogBase", "WatchdogLinux", "WatchdogPolicy", "WatchdogControl"]),
        tests(
            "WatchdogSupervisorTests", exclude: ["Fixtures"],
            [
                "WatchdogBase", "WatchdogCapture", "WatchdogConfiguration", "WatchdogControl", "WatchdogHistory",
                "WatchdogLinux", "WatchdogMetrics", "WatchdogPolicy", "WatchdogRecording", "WatchdogRendering",
                "WatchdogReport", "WatchdogReportStore", "WatchdogVerdict", "WatchdogWire", "WatchdogLaunch",
                "WatchdogDaemon", "WatchdogRun", "ReportFixtures",
            ]),
        tests(
            "WatchdogReportTests",
            [
                "WatchdogBase", "WatchdogPolicy", "WatchdogRecording", "WatchdogReport", "WatchdogVerdict",
                "WatchdogRendering", "ReportFixtures",
            ]),
        tests(
            "WatchdogReportStoreTests",
            ["WatchdogBase", "WatchdogLinux", "WatchdogReport", "WatchdogReportStore", "ReportFixtures"]),
        tests(
            "WatchdogRenderingTests", exclude: ["Goldens"],
            [
                "CLinux", "WatchdogBase", "WatchdogPolicy", "WatchdogRecording", "WatchdogReport", "WatchdogVerdict",
                "WatchdogRendering", "ReportFixtures",
            ]),
        tests("WatchdogMeasurementTests", ["WatchdogBase", "WatchdogMeasurement"]),
        tests(
            "WatchdogImportTests", exclude: ["Fixtures"],
            ["WatchdogBase", "WatchdogConfiguration", "WatchdogMeasurement", "WatchdogImport"]),
        tests(
            "WatchdogSimulationTests",
            [
                "WatchdogBase", "WatchdogPolicy", "WatchdogHistory", "WatchdogLinux", "WatchdogReport",
                "WatchdogSimulation", "ReportFixtures",
            ]),
        tests("NetworkConditionerTests", ["WatchdogBase", "NetworkConditioner"]),
        tests("WatchdogConformanceTests", ["WatchdogBase", "WatchdogWire", "WatchdogConformance"]),
        tests(
            "WatchdogFleetTests", exclude: ["Goldens"],
            [
                "WatchdogBase", "WatchdogLinux", "WatchdogRendering", "WatchdogReport", "WatchdogReportStore",
                "WatchdogFleet", "ReportFixtures",
            ]),
        tests("WatchdogTestingTests", ["Watchdog", "WatchdogTesting", "WatchdogLinux", "QuickPick"] + testedApps),
        tests("SampleSupportTests", ["SampleSupport"]),
        tests(
            "IntegrationTests", exclude: ["Subjects"],
            [
                "WatchdogBase", "WatchdogControl", "WatchdogLinux", "WatchdogMeasurement", "WatchdogPolicy",
                "WatchdogRecording", "WatchdogRendering", "WatchdogReport", "WatchdogReportStore", "WatchdogLaunch",
                "WatchdogDaemon", "WatchdogRun",
                "WatchdogVerdict", "watchdogd", "watchdogd-symbolicate", "ReportFixtures", "SampleSupport",
            ] + testedApps),
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

// scripts/test asks for the layers that it tests under a sanitizer.
if let names = Context.environment["WATCHDOGD_TESTS"] {
    var unvisited = names.split(separator: " ").map(String.init)
    var needed = Set(unvisited)
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
