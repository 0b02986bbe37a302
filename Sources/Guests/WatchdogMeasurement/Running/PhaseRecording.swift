// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import WatchdogBase
import WatchdogLinux

/// Records a few launches with `watchdogd record`, for their phases.
///
/// A process of its own records, because it traces the program. The launches are not those that were measured: recording
/// costs time.
struct PhaseRecording {
    /// The launches to record.
    static let launches = 5
    private static let mostBytes = 64 << 20
    /// How much longer than the launch the recorder may take: it ends the program and names what it has recorded.
    private static let allowance = Duration.seconds(60)

    /// The program and its arguments.
    let command: [String]
    let environment: Environment
    let until: LaunchGoal
    let timeLimit: Duration
    /// Readable when the user interrupts.
    let interruption: OwnedDescriptor
    /// Called before each launch.
    let prepare: () throws(MeasuringError) -> Void

    /// The phases; nil if no launch can be recorded, such as without the right to use perf_event_open(2).
    func phases() throws(MeasuringError) -> PhaseTimes? {
        var template = Array("/tmp/watchdogd-phases-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw .refused("cannot create a folder in /tmp") }
        let folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var times = PhaseTimes()
        for number in 0..<Self.launches {
            let file = "\(folder)/\(number).launch"
            try prepare()
            try record(to: file)
            guard
                let bytes = try? OwnedDescriptor.regularFile(at: ByteString(file)).contents(limit: Self.mostBytes),
                times.add(recording: bytes)
            else { return nil }
        }
        return times
    }

    /// - Throws: ``MeasuringError`` if the user interrupts; a launch that is not recorded leaves no file.
    private func record(to file: String) throws(MeasuringError) {
        let options = [
            "--rung", "B", "--until", until.rawValue, "--time-limit", "\(timeLimit.nanoseconds / 1_000_000)ms",
            "--output", file, "--",
        ]
        do {
            var request = SpawnRequest(
                executable: "/proc/self/exe", arguments: ["watchdogd", "record"] + options + command,
                environment: environment)
            request.descriptors = []
            let recorder = try ProgramUnderTest(request, output: .discarded)
            let limit = Instant.now() + timeLimit + Self.allowance
            var isInterrupted = false
            while !recorder.process.hasExited, !isInterrupted, Instant.now() < limit {
                isInterrupted = recorder.wait(until: limit, or: interruption)
            }
            // It then ends the program that it records.
            if !recorder.process.hasExited { recorder.terminate(within: timeLimit + Self.allowance) }
            recorder.kill()
            if isInterrupted { throw MeasuringError.interrupted }
        } catch let error as MeasuringError {
            throw error
        } catch {
            throw .refused("cannot record the phases: \(error)")
        }
    }
}
