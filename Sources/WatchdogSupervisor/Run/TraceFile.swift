// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux
import WatchdogPolicy
import WatchdogSimulation

/// Writes the trace of a run while it lasts, for `watchdogd simulate`.
///
/// Isolation: the loop's thread. What exceeds the memory for a disk that is slow or full is dropped, and reported at the
/// end.
final class TraceFile {
    /// How much waits for a slow disk.
    static let limit = 4 << 20
    /// How long the end of the run waits for the disk.
    static let patience = Duration.seconds(5)
    /// How often the app's use of CPUs is read, and what was collected is written.
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
    init(_ path: String, of supervisor: Supervisor, _ shell: LaunchShell) throws {
        self.path = path
        self.shell = shell
        do throws(LinuxError) {
            // A FIFO without a reader would block the launch forever.
            let flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY | O_NONBLOCK
            let file = try OwnedDescriptor(opening: path, flags: flags, mode: 0o640, isForeign: true)
            // Only the writer's queue waits for a reader from here on.
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
        // A reading at both ends of an allowance shows how much of it the app waited for a CPU.
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

    /// Writes what is left, and says so if something is missing from the file.
    ///
    /// - Returns: the exit code of the run; one that was 0 is EX_CANTCREAT for an incomplete file.
    func finish(_ exitCode: Int32) -> Int32 {
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
