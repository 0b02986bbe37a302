// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import TestSupport
import Testing

/// Runs tests of this bundle in a separate process, where they fail.
struct TestRunner {
    /// The folder for the process's files; removed by ``remove()``.
    let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("tests-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    func remove() { try? FileManager.default.removeItem(at: folder) }

    /// Runs the bundle, and waits until it has exited.
    ///
    /// - Returns: its exit code, and its output.
    func run(_ arguments: [String], environment: [String: String]) async throws -> (exitCode: Int32, text: String) {
        let bundle = try #require(CommandLine.arguments.first { $0.hasSuffix(".xctest") })
        let runner = Process()
        runner.executableURL = URL(fileURLWithPath: bundle)
        runner.arguments = arguments
        runner.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
            .merging(["TMPDIR": folder.path]) { $1 }
        let output = folder.appendingPathComponent("output")
        try Data().write(to: output)
        let file = try FileHandle(forWritingTo: output)
        (runner.standardOutput, runner.standardError) = (file, file)
        // Blocking a thread here would keep parallel tests from a CPU.
        let (ends, end) = AsyncStream.makeStream(of: Bool.self)
        runner.terminationHandler = { _ in end.yield(true) }
        try runner.run()
        // Its tests have their own patience.
        let limit = patience * 2
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(Int(limit.components.seconds))) {
            end.yield(false)
        }
        let isInTime = await ends.first { _ in true } ?? false
        if !isInTime {
            kill(runner.processIdentifier, SIGKILL)
            _ = await ends.first { $0 }
        }
        try #require(isInTime, "the runner has not ended after \(limit)")
        return (runner.terminationStatus, try String(contentsOf: output, encoding: .utf8))
    }
}
