// SPDX-License-Identifier: Apache-2.0

import Testing

/// A module of `Sources` and what its Swift files may import, besides the standard library.
struct Module: Sendable, CustomTestStringConvertible {
    let name: String
    let mayImport: Set<String>

    var testDescription: String { name }

    /// The layers, in the order in which they are read; a folder's name is its place in it.
    ///
    /// `Synchronization` counts as Glibc does: it is part of the toolchain and brings nothing.
    static let all: [Module] =
        [Module("Watchdog", ["WatchdogBase", "WatchdogWire", "Dispatch", "Glibc", "Synchronization"])] + deciding
        + linux
        + capture + supervising + reports + commandLine + guests + testKit + samples

    private static let deciding = [
        Module("WatchdogBase", in: "1-Decide", []),
        Module("WatchdogWire", in: "1-Decide", []),
        Module("WatchdogPolicy", in: "1-Decide", ["WatchdogBase"]),
        Module("WatchdogConfiguration", in: "1-Decide", ["WatchdogBase", "WatchdogPolicy"]),
        Module("WatchdogVerdict", in: "1-Decide", ["WatchdogBase"]),
        Module("WatchdogConversation", in: "1-Decide", ["WatchdogPolicy", "WatchdogWire"]),
    ]

    private static let linux = [
        Module("WatchdogLinux", in: "2-Linux", ["WatchdogBase", "CLinux", "CSystemd", "Glibc", "Synchronization"])
    ]

    private static let capture = [
        Module(
            "WatchdogCapture", in: "3-Capture",
            [
                "WatchdogBase", "WatchdogVerdict", "WatchdogReport", "WatchdogLinux", "CSnapshot",
                "FoundationEssentials", "Glibc", "Synchronization",
            ]),
        Module(
            "WatchdogSymbolication", in: "3-Capture",
            [
                "WatchdogBase", "WatchdogVerdict", "WatchdogReport", "WatchdogCapture", "WatchdogLinux", "CSnapshot",
                "CSymbolication", "FoundationEssentials", "Glibc",
            ]),
        Module("watchdogd-symbolicate", in: "3-Capture", ["WatchdogSymbolication", "Glibc"]),
    ]

    private static let supervising = [
        Module(
            "WatchdogRecording", in: "4-Supervise",
            [
                "WatchdogBase", "WatchdogWire", "WatchdogVerdict", "WatchdogReport", "WatchdogRendering",
                "WatchdogLinux", "WatchdogCapture", "CRecorder", "FoundationEssentials", "Glibc",
            ]),
        Module(
            "WatchdogHistory", in: "4-Supervise",
            ["WatchdogBase", "WatchdogLinux", "CSQLite", "FoundationEssentials", "Glibc", "Synchronization"]),
        Module("WatchdogMetrics", in: "4-Supervise", ["WatchdogBase", "WatchdogPolicy", "WatchdogVerdict"]),
        Module(
            "WatchdogControl", in: "4-Supervise",
            [
                "WatchdogBase", "WatchdogPolicy", "WatchdogLinux", "CLinux", "FoundationEssentials", "Glibc",
                "Synchronization",
            ]),
        // One launch; the daemon; a run in the foreground.
        Module(
            "WatchdogLaunch", in: "4-Supervise",
            [
                "WatchdogBase", "WatchdogWire", "WatchdogPolicy", "WatchdogConfiguration", "WatchdogVerdict",
                "WatchdogConversation", "WatchdogLinux", "WatchdogCapture", "WatchdogRecording", "WatchdogControl",
                "WatchdogReport", "WatchdogReportStore", "WatchdogRendering", "Dispatch", "Glibc", "Synchronization",
            ]),
        Module(
            "WatchdogDaemon", in: "4-Supervise",
            [
                "WatchdogBase", "WatchdogWire", "WatchdogPolicy", "WatchdogConfiguration", "WatchdogVerdict",
                "WatchdogLinux", "WatchdogCapture", "WatchdogRecording", "WatchdogHistory", "WatchdogMetrics",
                "WatchdogControl", "WatchdogLaunch", "WatchdogReport", "WatchdogReportStore", "WatchdogRendering",
                "Dispatch", "FoundationEssentials", "Glibc", "Synchronization",
            ]),
        Module(
            "WatchdogRun", in: "4-Supervise",
            [
                "WatchdogBase", "WatchdogWire", "WatchdogPolicy", "WatchdogConfiguration", "WatchdogVerdict",
                "WatchdogConversation", "WatchdogLinux", "WatchdogCapture", "WatchdogRecording", "WatchdogHistory",
                "WatchdogMetrics", "WatchdogControl", "WatchdogLaunch", "WatchdogDaemon", "WatchdogReport",
                "WatchdogReportStore", "WatchdogRendering", "Dispatch", "FoundationEssentials", "Glibc",
                "Synchronization",
            ]),
    ]

    /// A report: the model with its coding, the files, what people read.
    private static let reports = [
        Module(
            "WatchdogReport", in: "5-Report",
            ["WatchdogBase", "WatchdogPolicy", "WatchdogVerdict", "FoundationEssentials"]),
        Module(
            "WatchdogReportStore", in: "5-Report",
            ["WatchdogBase", "WatchdogReport", "WatchdogLinux", "Glibc", "Synchronization"]),
        Module(
            "WatchdogRendering", in: "5-Report",
            ["WatchdogBase", "WatchdogPolicy", "WatchdogVerdict", "WatchdogReport"]),
    ]

    private static let commandLine = [
        Module(
            "WatchdogCommands", in: "6-CommandLine",
            [
                "WatchdogBase", "WatchdogPolicy", "WatchdogConfiguration", "WatchdogControl", "WatchdogReport",
                "WatchdogRendering", "WatchdogReportStore", "WatchdogLinux", "WatchdogLaunch", "WatchdogDaemon",
                "WatchdogRun",
                "NetworkConditioner", "WatchdogRecording", "WatchdogMeasurement", "WatchdogHistory",
                "WatchdogConformance", "WatchdogImport", "WatchdogSimulation", "WatchdogFleet",
                "WatchdogSymbolication", "ArgumentParser", "FoundationEssentials", "Glibc",
            ]),
        Module("watchdogd", ["WatchdogCommands"]),
    ]

    /// What has commands of its own, and what nothing needs that supervises.
    private static let guests = [
        // Runs measured launches. Glibc: logarithms, too.
        Module(
            "WatchdogMeasurement", in: "Guests",
            ["WatchdogBase", "WatchdogWire", "WatchdogLinux", "CLinux", "FoundationEssentials", "Glibc"]),
        // App files made of what others say, or of a trial.
        Module("WatchdogImport", in: "Guests", ["WatchdogBase", "WatchdogConfiguration", "WatchdogMeasurement"]),
        // What other allowances would have done.
        Module(
            "WatchdogSimulation", in: "Guests",
            [
                "WatchdogBase", "WatchdogPolicy", "WatchdogConfiguration", "WatchdogLinux", "WatchdogHistory",
                "WatchdogLaunch", "WatchdogReport", "WatchdogReportStore", "Dispatch", "Glibc", "Synchronization",
            ]),
        // A bad network.
        Module("NetworkConditioner", in: "Guests", ["WatchdogBase", "Glibc"]),
        // Clients of the channel.
        Module(
            "WatchdogConformance", in: "Guests",
            ["WatchdogBase", "WatchdogWire", "WatchdogLinux", "FoundationEssentials", "Glibc"]),
        // Versions and hosts compared, and their reports. Glibc: logarithms, too.
        Module(
            "WatchdogFleet", in: "Guests",
            [
                "WatchdogBase", "WatchdogReport", "WatchdogReportStore", "WatchdogRendering", "WatchdogLinux",
                "FoundationEssentials", "Glibc",
            ]),
    ]

    private static let testKit = [
        Module(
            "WatchdogTesting", in: "TestKit",
            [
                "Watchdog", "WatchdogWire", "WatchdogBase", "WatchdogPolicy", "WatchdogVerdict", "WatchdogReport",
                "WatchdogConversation", "CTesting", "Dispatch", "FoundationEssentials", "Glibc", "Synchronization",
                "Testing",
            ])
    ]

    /// Foundation: see LayeringTests.nothingImportsFoundation.
    private static let samples = [
        Module(
            "SampleApps",
            [
                "Watchdog", "WatchdogBase", "NetworkConditioner", "SampleSupport", "CPhotoStamp", "CSampleSQLite",
                "CSampleThread", "CZlib", "Dispatch", "Foundation", "FoundationEssentials", "Glibc", "Synchronization",
            ])
    ]

    /// Where modules lie; those that are in none lie in Sources.
    static let folders = [
        "1-Decide", "2-Linux", "3-Capture", "4-Supervise", "5-Report", "6-CommandLine", "Guests", "TestKit",
    ]

    /// Modules without Swift: C targets, and module maps of system libraries.
    static let withoutSwift: Set<String> = [
        "CLinux", "CRecorder", "CSQLite", "CSnapshot", "CSymbolication", "CSystemd", "CTesting",
    ]

    private let folder: String?

    private init(_ name: String, in folder: String? = nil, _ mayImport: Set<String>) {
        self.name = name
        self.folder = folder
        self.mayImport = mayImport
    }

    /// Whether it is one of the commands and tools that supervision does without.
    var isGuest: Bool { folder == "Guests" }

    /// Whether it is part of what supervises, judges and reports.
    var isMission: Bool { folder.map { $0.first?.isNumber == true } ?? (name == "Watchdog") }

    var path: String { (["Sources"] + (folder.map { [$0] } ?? []) + [name]).joined(separator: "/") }

    var files: [SourceFile] { SourceTree.files(below: path).filter(\.isSwift) }
}

/// One `import` line.
struct ImportLine: Sendable {
    let module: String
    let place: String

    /// Skips attributes, access level and the kind of a scoped import: `@testable internal import struct A.B` is A.
    private static var pattern: Regex<(Substring, Substring)> {
        #/
        ^ (?: @\w+ (?: \( [^)]* \) )? \s+ )*
        (?: (?: public | package | internal | fileprivate | private ) \s+ )?
        import \s+
        (?: (?: typealias | struct | class | enum | protocol | let | var | func | actor ) \s+ )?
        (\w+)
        /#
    }

    static func all(in file: SourceFile) -> [ImportLine] {
        // Most files have some imports; compiling the pattern for each line takes longer than matching.
        let pattern = Self.pattern.matchingSemantics(.unicodeScalar)
        return file.code.compactMap { number, text in
            guard text.contains("import"), let match = text.firstMatch(of: pattern) else { return nil }
            return ImportLine(module: String(match.output.1), place: "\(file.path):\(number)")
        }
    }
}
