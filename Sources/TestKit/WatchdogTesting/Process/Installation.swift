// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc

/// Finds the executables.
enum Installation {
    /// The environment variable with the path of the watchdogd to use.
    static let variable = "WATCHDOGD"

    /// The directories in which SwiftPM may have built this package's executables: that of the test runner.
    static var buildDirectories: [String] {
        // Swift Testing's helper loads the test bundle; XCTest executes it. Both have its path in the command line.
        let bundles = CommandLine.arguments.filter { $0.hasSuffix(".xctest") }
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        var directories: [String] = []
        for path in bundles + [own] {
            let directory = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
            if !directory.isEmpty, !directories.contains(directory) { directories.append(directory) }
        }
        return directories
    }

    static func isExecutable(_ path: String) -> Bool {
        var information = stat()
        return stat(path, &information) == 0 && information.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
    }

    /// The path of watchdogd: `WATCHDOGD`, or the one that was built with the tests, or else the installed one.
    ///
    /// - Throws: ``TestSetupError`` if there is none.
    static func watchdogd() throws(TestSetupError) -> String {
        if let given = getenv(variable).map({ String(cString: $0) }), !given.isEmpty {
            guard isExecutable(given) else {
                throw TestSetupError("\(variable)=\(given) is not an executable file; correct it or unset it")
            }
            return given
        }
        let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/local/bin:/usr/bin:/bin"
        let directories = buildDirectories + path.split(separator: ":").map(String.init)
        for directory in directories where isExecutable("\(directory)/watchdogd") { return "\(directory)/watchdogd" }
        throw TestSetupError(
            "no watchdogd in \(directories.joined(separator: ", ")); install it, or set \(variable) to its path")
    }
}
