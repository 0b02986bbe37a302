// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

/// A loop with a launcher, and the results of its launches.
final class LaunchBench {
    let loop: EventLoop
    let process: LauncherProcess
    let launcher: Launcher
    private(set) var ends: [Int: Result<SpawnedProcess, SpawnError>] = [:]
    private(set) var count = 0

    init() throws {
        loop = try EventLoop()
        process = try LauncherProcess(precedence: false)
        launcher = try Launcher(process, precedence: false, on: loop)
    }

    /// Reaps the remaining children.
    deinit {
        _ = try? serve { launcher.children.isEmpty }
        for launcher in [process, launcher.process].compactMap(\.self) {
            try? launcher.process.send(SIGKILL)
            _ = try? waitForExit(launcher.process)
        }
    }

    @discardableResult
    func launch(_ request: SpawnRequest, onHeld: ((HeldProcess) -> Void)? = nil) -> PendingLaunch {
        let number = count
        count += 1
        let launch = launcher.launch(request.patient, onHeld: onHeld) { [unowned self] in
            #expect(ends.updateValue($0, forKey: number) == nil)
        }
        launch.confirm()
        return launch
    }

    /// Runs the loop until a condition holds; false after the tests' patience.
    func serve(until condition: () -> Bool) throws -> Bool {
        let end = Instant.now() + patience
        while !condition() {
            guard Instant.now() < end else { return false }
            _ = try loop.runOnce(limit: .milliseconds(50))
        }
        return true
    }

    /// Runs the loop until every launch has ended, and returns the results in launch order.
    func finish() throws -> [Result<SpawnedProcess, SpawnError>] {
        try #require(try serve { ends.count == count })
        return (0..<count).compactMap { ends[$0] }
    }

    /// The error of a launch that must fail.
    func failure(_ request: SpawnRequest) throws -> SpawnError {
        launch(request)
        switch try #require(try finish().last) {
        case .success(let process):
            _ = try waitForExit(process.process)
            throw LinuxError("fail", .invalidArgument)
        case .failure(let error):
            return error
        }
    }
}

/// The numbers that programs wrote to a pipe, one per line.
func numbers(in pipe: OwnedDescriptor) -> [Int] {
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    let length = read(pipe.number, &buffer, buffer.count)
    let lines = buffer.prefix(max(length, 0)).split(separator: UInt8(ascii: "\n"))
    return lines.compactMap { Int(String(decoding: $0, as: UTF8.self)) }
}
