// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
package import WatchdogLaunch
import WatchdogLinux
import WatchdogPolicy

/// Writes the trace of a run, while it runs, for `watchdogd simulate`.
///
/// Isolation: the loop's thread. If the disk is slow or full, lines beyond the memory limit are dropped, which is
/// reported at the end.
package final class TraceFile {
    /// The maximum number of buffered bytes.
    static let limit = 4 << 20
    /// The time limit for the disk at the end of the run.
    static let patience = Duration.seconds(5)
    /// The interval at which the app's CPU usage is read, and collected lines are written.
    private static let interval = Duration.seconds(1)

    private let path: String
    private let writer: TraceWriter
    private unowned let shell: LaunchShell
    private var recorder: TraceRecorder
    private var buffer: [UInt8] = []
    private var lost = 0
    private var hasLaunched = false
    private var timer: Timer?

    /// Creates the file, and records the launch of this supervisor from now on.
    ///
    /// - Throws: ``RunError`` if the file cannot be created.
    package init(_ path: String, of supervisor: Supervisor, _ shell: LaunchShell) throws {
        self.path = path
        self.shell = shell
        do throws(LinuxError) {
            // A FIFO without a reader would block the launch forever.
            let flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY | O_NONBLOCK
            let file = try OwnedDescriptor(opening: path, flags: flags, mode: 0o640, isForeign: true)
            // Back to blocking mode: from here on, only the writer's queue can block on a reader.
            _ = fcntl(file.number, F_SETFL, O_WRONLY)
            writer = TraceWriter(file, path, limit: Self.limit)
        } catch {
            throw RunError.cannotCreate("--trace: \(error)")
        }
        let time = WallTime.now()
        recorder = TraceRecorder(
            app: shell.configuration.name, at: shell.now,
            timeUSec: time.seconds * 1_000_000 + Int64(time.nanoseconds) / 1_000)
        add([recorder.header])
        timer = try shell.host.timer { [unowned self] _ in tick() }
        supervisor.onStep = { [unowned self] in step($0, at: $1, effects: $2) }
    }

    private func step(_ event: ProcessEvent, at now: Instant, effects: [ProcessEffect]) {
        // Read CPU usage at both ends of an allowance, to know how long the app waited for a CPU in it.
        if hasLaunched, effects.contains(.beginWindow) || event == .deadlineReached { measure(at: now) }
        add(recorder.step(event, at: now, effects: effects))
        guard case .spawned = event else { return }
        hasLaunched = true
        timer?.arm(at: now + Self.interval)
    }

    private func tick() {
        measure(at: shell.now)
        flush()
        timer?.arm(at: shell.now + Self.interval)
    }

    private func measure(at now: Instant) {
        if let use = shell.resourceUse() { add(recorder.used(use, at: now)) }
    }

    private func add(_ lines: [String]) {
        for line in lines {
            guard buffer.count + line.utf8.count < Self.limit else {
                lost += 1
                continue
            }
            buffer += Array(line.utf8) + [UInt8(ascii: "\n")]
        }
    }

    private func flush() {
        guard !buffer.isEmpty, writer.write(buffer) else { return }
        buffer = []
    }

    /// Writes the remaining lines, and prints a message if the file is incomplete.
    ///
    /// - Returns: the exit code of the run; for an incomplete file, EX_CANTCREAT instead of 0.
    package func finish(_ exitCode: Int32) -> Int32 {
        timer?.cancel()
        flush()
        guard let loss else { return exitCode }
        StandardError.say("the trace is incomplete: \(loss)", as: .error)
        return exitCode == 0 ? RunError.cannotCreate("").exitCode : exitCode
    }

    private var loss: String? {
        guard writer.finish(within: Self.patience) else { return "the disk of \(path) does not answer" }
        if let failure = writer.failure { return "\(failure)" }
        return lost > 0 || !buffer.isEmpty ? "\(path) was written too slowly" : nil
    }
}
