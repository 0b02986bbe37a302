// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import WatchdogBase
import WatchdogCapture
import WatchdogLinux
import WatchdogVerdict

@testable import WatchdogSymbolication

/// Takes a snapshot of a process and symbolicates it in this process.
func symbolicate(
    _ process: Process,
    method: CapturedProcess.Method = .ptrace,
    depth: Depth = .lines,
    excluded: [Int] = []
) throws -> CapturedProcess {
    let snapshot = try Snapshot.take(of: process.id, SnapshotOptions(method: method, stopTimeout: patience))
    return try symbolicate(try snapshot.contents(), modules: snapshot.modules, depth: depth, excluded: excluded)
}

/// Symbolicates a snapshot in this process.
func symbolicate(
    _ contents: SnapshotContents,
    modules: [Int32],
    depth: Depth = .lines,
    excluded: [Int] = []
) throws -> CapturedProcess {
    _ = isOffline
    let attempt = Attempt(depth: depth, excluded: excluded, deadline: .now() + patience * 5)
    guard var run = SymbolicationRun(contents, modules: modules, attempt: attempt, now: WorkClock().now) else {
        throw Failure(description: "no memory")
    }
    return run.perform()
}

/// The confinement that this kernel imposes on a worker.
///
/// A worker is a fork of its process. In a test, that has other threads, and a lock of Swift's runtime that one of them
/// held at that moment would stay locked in the worker. All suites here are therefore `.reapsChildren`, which runs one
/// test at a time.
func kernelConfinement() throws -> Confinement {
    try Worker.run(until: .now() + patience) { $0.post([1]) ? 0 : 1 }.confinement
}

/// No test queries a server for debug information.
private let isOffline = unsetenv("DEBUGINFOD_URLS") == 0

extension CapturedProcess {
    var main: CapturedThread {
        get throws {
            guard let thread = threads.first else { throw Failure(description: "no threads") }
            return thread
        }
    }

    /// The thread with a name.
    func thread(_ name: String) throws -> CapturedThread {
        guard let thread = threads.first(where: { $0.name == name }) else {
            throw Failure(description: "no thread \(name) among \(threads.map(\.name))")
        }
        return thread
    }

    /// The image with a name.
    func image(_ name: String) throws -> BinaryImage {
        guard let image = images.first(where: { $0.name == name }) else {
            throw Failure(description: "no image \(name) among \(images.map(\.name))")
        }
        return image
    }
}

extension [Frame] {
    /// The names, without "specialized " and with "?" for unknown ones.
    var names: [String] {
        map { frame in
            let name = frame.symbol ?? "?"
            return name.hasPrefix("specialized ") ? String(name.dropFirst(12)) : name
        }
    }

    /// The addresses of the machine frames; one call of an interpreter evaluates several interpreted frames.
    var machineAddresses: [UInt64] {
        var addresses: [UInt64] = []
        for frame in self where !frame.isInlined && (frame.language == nil || addresses.last != frame.address) {
            addresses.append(frame.address)
        }
        return addresses
    }

    /// Whether these names occur in this order, each directly after the one before, except for inlined calls.
    func contain(chain: [String]) -> Bool {
        let names = names
        return names.indices.contains { start in
            var index = start
            for name in chain {
                while index < names.count, names[index] != name, self[index].isInlined { index += 1 }
                guard index < names.count, names[index] == name else { return false }
                index += 1
            }
            return true
        }
    }

    /// `name file:line` for each frame, for messages.
    var listing: String {
        map { "\($0.symbol ?? "?") \($0.sourceFile ?? ""):\($0.sourceLine ?? 0) \($0.trust)" }.joined(separator: "\n")
    }
}

/// The line of a subject's source that contains `text`.
func line(containing text: String, in source: String) throws -> Int {
    let path = "\(#filePath)".split(separator: "/").dropLast(2).reduce("") { "\($0)/\($1)" } + "/Subjects/\(source)"
    let lines = (contents(of: path) ?? "").split(separator: "\n", omittingEmptySubsequences: false)
    guard let index = lines.firstIndex(where: { $0.contains(text) }) else {
        throw Failure(description: "no line of \(source) contains \(text)")
    }
    return index + 1
}
