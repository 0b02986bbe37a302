// SPDX-License-Identifier: Apache-2.0

import Testing

/// A folder of `Sources` and what its Swift files may import, besides the standard library.
struct Module: Sendable, CustomTestStringConvertible {
    let name: String
    let mayImport: Set<String>

    var testDescription: String { name }

    /// The layers, lowest first.
    ///
    /// `Synchronization` counts as Glibc does: it is part of the toolchain and brings nothing.
    static let all: [Module] = [
        // What an app links.
        Module("WatchdogWire"),
        Module("Watchdog", "WatchdogWire", "Dispatch", "Glibc", "Synchronization"),
        // Pure core.
        Module("WatchdogPolicy"),
        Module("WatchdogConfiguration", "WatchdogPolicy"),
        Module("WatchdogReport", "WatchdogPolicy", "FoundationEssentials", "Glibc", "Synchronization"),
        // Linux.
        Module("WatchdogLinux", "WatchdogPolicy", "CLinux", "CSystemd", "Glibc", "Synchronization"),
        Module(
            "WatchdogCapture",
            "WatchdogPolicy", "WatchdogReport", "WatchdogLinux", "CSnapshot", "FoundationEssentials", "Glibc",
            "Synchronization"
        ),
        Module(
            "WatchdogSymbolication",
            "WatchdogPolicy", "WatchdogReport", "WatchdogCapture", "WatchdogLinux", "CSnapshot", "CElfutils", "CWorker",
            "FoundationEssentials", "Glibc"
        ),
        // The control interface.
        Module(
            "WatchdogControl",
            "WatchdogPolicy", "WatchdogLinux", "CLinux", "FoundationEssentials", "Glibc", "Synchronization"
        ),
        // The shell.
        Module(
            "WatchdogSupervisor",
            "WatchdogPolicy", "WatchdogWire", "WatchdogReport", "WatchdogLinux", "WatchdogCapture",
            "WatchdogConfiguration", "WatchdogControl", "Dispatch", "FoundationEssentials", "Glibc", "Synchronization"
        ),
        // A bad network.
        Module("NetworkConditioner", "WatchdogPolicy", "Glibc"),
        // Executables.
        Module(
            "watchdogd",
            "WatchdogPolicy", "WatchdogConfiguration", "WatchdogControl", "WatchdogReport", "WatchdogLinux",
            "WatchdogSupervisor", "NetworkConditioner", "ArgumentParser", "FoundationEssentials", "Glibc"
        ),
        Module("watchdogd-symbolicate", "WatchdogReport", "WatchdogSymbolication", "FoundationEssentials", "Glibc"),
        // Sample apps, and what those that tell a story share. Foundation: see nothingImportsFoundation.
        Module(
            "SampleSupport",
            "Watchdog", "WatchdogPolicy", "NetworkConditioner", "CSampleThread", "CSQLite", "CZlib",
            "Dispatch", "FoundationEssentials", "Glibc", "Synchronization"
        ),
        Module("StarSearcherStory", "SampleSupport", "Watchdog", "Dispatch", "FoundationEssentials", "Glibc"),
        Module(
            "SampleApps",
            "Watchdog", "WatchdogPolicy", "NetworkConditioner", "SampleSupport", "StarSearcherStory",
            "CPhotoStamp", "CSQLite", "CSuperfastLog", "Dispatch", "Foundation", "FoundationEssentials", "Glibc",
            "Synchronization"
        ),
    ]

    /// Folders without Swift: C targets, and module maps of system libraries.
    static let withoutSwift: Set<String> = [
        "CElfutils", "CLinux", "CPhotoStamp", "CSQLite", "CSampleThread", "CSnapshot",
        "CSuperfastLog", "CSystemd", "CWorker", "CZlib",
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

    /// Attributes, access level and the kind of a scoped import are skipped: `@testable internal import struct A.B` is A.
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
        file.code.compactMap { number, text in
            guard text.contains("import"), let match = text.firstMatch(of: pattern) else { return nil }
            return ImportLine(module: String(match.output.1), place: "\(file.path):\(number)")
        }
    }
}
