// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// A file that the build left next to this test bundle.
struct BuiltProduct: Sendable {
    let path: String

    /// The folder of the running test bundle, where SwiftPM puts every product of this configuration.
    static let folder: String = {
        let executable = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return executable.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" }
    }()

    /// Whether a missing product is an error: `make check` has built them all.
    static let mustExist = ProcessInfo.processInfo.environment["WATCHDOGD_PRODUCTS_MUST_EXIST"] != nil

    init(_ name: String) {
        path = "\(Self.folder)/\(name)"
    }

    var exists: Bool { access(path, F_OK) == 0 }

    /// The libraries that it names itself, not those of its libraries.
    ///
    /// - Throws: ``ToolFailure`` if `readelf` cannot read it.
    func neededLibraries() throws -> [String] {
        try output(of: "readelf --dynamic --wide").compactMap { line in
            line.firstMatch(of: #/\(NEEDED\).*\[(.+)\]/#).map { String($0.output.1) }
        }
    }

    /// The symbols that the linker must find outside this object file.
    ///
    /// - Throws: ``ToolFailure`` if `nm` cannot read it.
    func undefinedSymbols() throws -> [String] {
        try output(of: "nm --undefined-only --format=just-symbols").map(String.init).filter { !$0.isEmpty }
    }

    /// The output of a run.
    ///
    /// - Throws: ``ToolFailure`` if it does not exit with 0.
    func output(withArguments arguments: String) throws -> [Substring] {
        try lines(printedBy: "'\(path)' \(arguments)")
    }

    private func output(of tool: String) throws -> [Substring] {
        try lines(printedBy: "\(tool) '\(path)'")
    }

    private func lines(printedBy command: String) throws -> [Substring] {
        guard !path.contains("'"), let pipe = popen("LC_ALL=C \(command) 2>&1", "r") else {
            throw ToolFailure(command: command, output: "not started")
        }
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while case let count = fread(&buffer, 1, buffer.count, pipe), count > 0 {
            text += buffer.prefix(count)
        }
        let output = String(decoding: text, as: UTF8.self)
        guard pclose(pipe) == 0 else { throw ToolFailure(command: command, output: output) }
        return output.split(separator: "\n")
    }
}

/// A program failed.
struct ToolFailure: Error, CustomStringConvertible {
    let command: String
    let output: String

    var description: String { "\(command): \(output)" }
}
