// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport
import Testing
import WatchdogTesting

/// QuickPick, as its developers would test it: against a server that accepts connections and never answers.
private enum QuickPick {
    static func program(stage: Int, _ server: SilentServer, _ folder: String) -> Program {
        .product(
            "QuickPick", "--stage", "\(stage)", "--server", "127.0.0.1:\(server.port)", "--data", folder,
            "--time-scale", "0.01")
    }

    /// Installs the app, which is not part of a launch, and passes its folder.
    static func install(in folder: URL) async throws -> String {
        let data = folder.appendingPathComponent("data").path
        let end = try await SupervisedApp.launch(
            .product("QuickPick", "--prepare", "--data", data, "--time-scale", "0.01"),
            LaunchSettings(launch: .seconds(600))
        ).termination
        try #require(end.exitCode == 0, "\(end)")
        return data
    }
}

/// A test that another test runs in a separate process, because it fails.
@Suite(
    "A red launch",
    .enabled(if: ProcessInfo.processInfo.environment["WATCHDOGD_RED_TESTS"] != nil, "run by StageTests"),
    .reapsChildren)
struct RedLaunchTests {
    @Test("QuickPick's first stage survives a slow server", .launch(within: .seconds(4)))
    func ready() async throws {
        let variables = ProcessInfo.processInfo.environment
        let server = try SilentServer()
        let app = try await SupervisedApp.launch(
            QuickPick.program(stage: 1, server, try #require(variables["WATCHDOGD_RED_DATA"])))
        try await app.ready()
    }
}

@Suite("The stages of QuickPick", .reapsChildren)
struct StageTests {
    private func withFolder(_ body: (TestRunner, String) async throws -> Void) async throws {
        let runner = try TestRunner()
        defer { runner.remove() }
        try await body(runner, try await QuickPick.install(in: runner.folder))
    }

    @Test("Stage 1 turns a test of its launch red, with the verdict in the message")
    func red() async throws {
        try await withFolder { runner, data in
            let (exitCode, text) = try await runner.run(
                [
                    "--testing-library", "swift-testing",
                    "--filter", #"WatchdogTestingTests\.RedLaunchTests/ready\(\)"#,
                ],
                environment: ["WATCHDOGD_RED_TESTS": "1", "WATCHDOGD_RED_DATA": data])
            #expect(exitCode == 1, "\(text)")
            #expect(text.contains("with 1 issue"), "\(text)")
            #expect(text.contains("expected QuickPick to be ready, but QuickPick was killed"), "\(text)")
            let verdict = text.split(separator: "\n").first { $0.contains("verdict: ") }
            #expect(verdict?.contains("waits for an answer from 127.0.0.1:") == true, "\(text)")
        }
    }

    @Test("Stage 1 is killed while it waits for its list, and the crash log says for whom")
    func killed() async throws {
        try await withFolder { _, data in
            let server = try SilentServer()
            let app = try await SupervisedApp.launch(
                QuickPick.program(stage: 1, server, data), LaunchSettings(launch: .seconds(4)))
            let log = try await app.expectKill(.ateBadFood, during: .sceneCreate).report
            #expect(log.cause == .blocked)
            #expect(log.wait?.peer == .port(server.port, of: "127.0.0.1"), "\(log.verdict)")
            #expect(log.mainThread.contains("fetchFeed"))
            #expect(log.mainThread.contains("launchBlocking"))
        }
    }

    @Test("Stage 6 turns it green: it is ready while nothing answers")
    func green() async throws {
        try await withFolder { _, data in
            let server = try SilentServer()
            let app = try await SupervisedApp.launch(
                QuickPick.program(stage: 6, server, data), LaunchSettings(launch: .seconds(120)))
            try await app.ready()
            try await app.expectSurvival(for: .milliseconds(300))
            #expect(try await app.terminate().cause == .terminated)
        }
    }
}

/// A server that accepts connections and never answers: the kernel accepts them for the backlog.
private final class SilentServer: Sendable {
    let port: UInt16
    private let listener: Int32

    init() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        self.listener = listener
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0 && listen(listener, 64) == 0
                    && getsockname(listener, address, &length) == 0
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        try #require(result)
    }

    deinit { close(listener) }
}
