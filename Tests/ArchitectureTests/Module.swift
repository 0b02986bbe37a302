// SPDX-License-Identifier: Apache-2.0

import Testing

/// A folder of `Sources` and the modules that its Swift files may import, besides the standard library.
struct Module: Sendable, CustomTestStringConvertible {
    let name: String
    let mayImport: Set<String>

    var testDescription: String { name }

    /// The layers, lowest first.
    ///
    /// `Synchronization` counts like Glibc: it is part of the toolchain and adds no dependency.
    static let all: [Module] = [
        // Linked by apps.
        Module("WatchdogBase"),
        Module("WatchdogWire"),
        Module("Watchdog", "WatchdogBase", "WatchdogWire", "Dispatch", "Glibc", "Synchronization"),
        // Pure core.
        Module("WatchdogPolicy", "WatchdogBase"),
        Module("WatchdogConfiguration", "WatchdogBase", "WatchdogPolicy"),
        Module("WatchdogRecording", "WatchdogBase", "FoundationEssentials"),
        // Glibc: logarithms.
        Module("WatchdogMeasurement", "WatchdogBase", "FoundationEssentials", "Glibc"),
        // App files converted from other formats, or derived from a trial.
        Module("WatchdogImport", "WatchdogBase", "WatchdogConfiguration", "WatchdogMeasurement"),
        // Reports: a verdict, the model with its coding, the rendered forms, the files.
        Module("WatchdogVerdict", "WatchdogBase"),
        Module("WatchdogReport", "WatchdogBase", "WatchdogPolicy", "WatchdogVerdict", "FoundationEssentials"),
        Module(
            "WatchdogRendering", "WatchdogBase", "WatchdogPolicy", "WatchdogVerdict", "WatchdogReport",
            "WatchdogRecording"
        ),
        Module("WatchdogReportStore", "WatchdogBase", "WatchdogReport", "Glibc", "Synchronization"),
        // Replays with other allowances.
        Module("WatchdogSimulation", "WatchdogBase", "WatchdogPolicy", "WatchdogReport"),
        // The fleet. Glibc: logarithms.
        Module(
            "WatchdogOrganizer",
            "WatchdogBase", "WatchdogReport", "WatchdogRendering", "FoundationEssentials", "Glibc"
        ),
        // Metrics.
        Module("WatchdogMetrics", "WatchdogBase", "WatchdogPolicy", "WatchdogVerdict"),
        // Linux.
        Module("WatchdogLinux", "WatchdogBase", "CLinux", "CSystemd", "Glibc", "Synchronization"),
        Module(
            "WatchdogCapture",
            "WatchdogBase", "WatchdogVerdict", "WatchdogReport", "WatchdogLinux", "CSnapshot", "FoundationEssentials",
            "Glibc",
            "Synchronization"
        ),
        Module(
            "WatchdogSymbolication",
            "WatchdogBase", "WatchdogVerdict", "WatchdogReport", "WatchdogCapture", "WatchdogLinux", "CSnapshot",
            "CElfutils", "CWorker",
            "FoundationEssentials", "Glibc"
        ),
        // Recordings of launches.
        Module(
            "WatchdogRecorder",
            "WatchdogBase", "WatchdogLinux", "WatchdogRecording", "WatchdogVerdict", "WatchdogWire", "WatchdogReport",
            "WatchdogCapture", "CRecorder", "Glibc"
        ),
        // Measuring launches.
        Module(
            "WatchdogMeasuring",
            "WatchdogBase", "WatchdogWire", "WatchdogMeasurement", "WatchdogLinux", "CLinux", "FoundationEssentials",
            "Glibc"
        ),
        // Clients of the channel.
        Module(
            "WatchdogConformance", "WatchdogBase", "WatchdogWire", "WatchdogLinux", "FoundationEssentials", "Glibc"
        ),
        // Reports of many hosts.
        Module(
            "WatchdogReportArchive",
            "WatchdogBase", "WatchdogReport", "WatchdogReportStore", "WatchdogRendering", "WatchdogLinux", "Glibc"
        ),
        // The history.
        Module(
            "WatchdogHistory",
            "WatchdogBase", "WatchdogLinux", "CSQLite", "FoundationEssentials", "Glibc", "Synchronization"
        ),
        // The control interface.
        Module(
            "WatchdogControl",
            "WatchdogBase", "WatchdogPolicy", "WatchdogLinux", "CLinux", "FoundationEssentials", "Glibc",
            "Synchronization"
        ),
        // Remote control of a run.
        Module("WatchdogRemote"),
        Module("WatchdogConversation", "WatchdogPolicy", "WatchdogWire"),
        // The shell.
        Module(
            "WatchdogSupervisor",
            "WatchdogBase", "WatchdogPolicy", "WatchdogWire", "WatchdogVerdict", "WatchdogReport", "WatchdogRendering",
            "WatchdogReportStore", "WatchdogLinux", "WatchdogCapture", "WatchdogHistory", "WatchdogRemote",
            "WatchdogConversation", "WatchdogMetrics", "WatchdogSimulation", "WatchdogRecording", "WatchdogRecorder",
            "NetworkConditioner",
            "WatchdogConfiguration", "WatchdogControl", "Dispatch", "FoundationEssentials", "Glibc", "Synchronization"
        ),
        // A bad network.
        Module("NetworkConditioner", "WatchdogBase", "Glibc"),
        // Executables.
        Module(
            "watchdogd",
            "WatchdogBase", "WatchdogPolicy", "WatchdogConfiguration", "WatchdogControl", "WatchdogReport",
            "WatchdogRendering", "WatchdogReportStore", "WatchdogLinux", "WatchdogSupervisor", "NetworkConditioner",
            "WatchdogRecording", "WatchdogRecorder", "WatchdogMeasurement", "WatchdogMeasuring", "WatchdogHistory",
            "WatchdogConformance", "WatchdogImport", "WatchdogReportArchive", "WatchdogSimulation", "WatchdogOrganizer",
            "WatchdogSymbolication", "ArgumentParser", "FoundationEssentials",
            "Glibc"
        ),
        // The test kit.
        Module(
            "WatchdogTesting",
            "Watchdog", "WatchdogWire", "WatchdogBase", "WatchdogPolicy", "WatchdogVerdict", "WatchdogReport",
            "WatchdogRemote", "WatchdogConversation", "CTesting", "Dispatch", "FoundationEssentials", "Glibc",
            "Synchronization", "Testing"
        ),
        Module("watchdogd-symbolicate", "WatchdogReport", "WatchdogSymbolication", "FoundationEssentials", "Glibc"),
        // Sample apps, and the shared code of those that tell a story. Foundation: see nothingImportsFoundation.
        Module(
            "SampleSupport",
            "Watchdog", "WatchdogBase", "NetworkConditioner", "CSampleThread", "CSQLite", "CZlib",
            "Dispatch", "FoundationEssentials", "Glibc", "Synchronization"
        ),
        Module("StarSearcherStory", "SampleSupport", "Watchdog", "Dispatch", "FoundationEssentials", "Glibc"),
        Module(
            "SampleApps",
            "Watchdog", "WatchdogBase", "NetworkConditioner", "SampleSupport", "StarSearcherStory",
            "CPhotoStamp", "CSQLite", "CSuperfastLog", "Dispatch", "Foundation", "FoundationEssentials", "Glibc",
            "Synchronization"
        ),
    ]

    /// Folders without Swift: C targets, and module maps of system libraries.
    static let withoutSwift: Set<String> = [
        "CElfutils", "CLinux", "CPhotoStamp", "CRecorder", "CSQLite", "CSampleThread", "CSnapshot",
        "CSuperfastLog", "CSystemd", "CTesting", "CWorker", "CZlib",
    ]

    private init(_ name: String, _ mayImport: String...) {
        self.name = name
        self.mayImport = Set(mayImport)
    }

    var files: [SourceFile] { SourceTree.files(below: "Sources/\(name)").filter(\.isSwift) }
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
