// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase
public import WatchdogLaunch
import WatchdogLinux

/// The files for test results.
public struct TestResultFiles: Sendable {
    /// The file for JUnit XML; nil for none.
    public var junit: String?
    /// The file for TAP; `-` is standard output, nil is none.
    public var tap: String?

    /// Creates the paths.
    public init(junit: String? = nil, tap: String? = nil) {
        self.junit = junit
        self.tap = tap
    }

    /// Whether there is nothing to write.
    var isEmpty: Bool { junit == nil && tap == nil }

    /// Checks in advance that ``write(_:)`` can open the files.
    ///
    /// - Throws: ``RunError`` (EX_CANTCREAT) that names the option and the file.
    public func check() throws(RunError) {
        if let junit { try AtomicFile.check(junit, of: "--junit") }
        if let tap, tap != "-" { try AtomicFile.check(tap, of: "--tap") }
    }

    /// Writes the results in both forms; if one file cannot be written, the other still is.
    ///
    /// - Throws: ``RunError`` (EX_CANTCREAT) that names the options and the files.
    public func write(_ suite: TestSuite) throws(RunError) {
        var failures: [RunError] = []
        if let junit { failures += AtomicFile.failures(writing: suite.junit, to: junit, of: "--junit") }
        switch tap {
        case "-"?: print(suite.tap, terminator: "")
        case let path?: failures += AtomicFile.failures(writing: suite.tap, to: path, of: "--tap")
        case nil: break
        }
        guard failures.isEmpty else {
            throw .cannotCreate(failures.map(\.description).joined(separator: "; "))
        }
    }
}

extension AtomicFile {
    fileprivate static func failures(writing text: String, to path: String, of option: String) -> [RunError] {
        do throws(RunError) {
            try write(text, to: path, of: option)
            return []
        } catch {
            return [error]
        }
    }
}
