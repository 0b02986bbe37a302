// SPDX-License-Identifier: Apache-2.0

import WatchdogReport
import WatchdogVerdict

/// The stacks of an app's other processes as text.
///
/// Apple's layout has no place for them. They are indented, so that no reader of that layout takes them for threads of
/// the main process.
enum OtherProcessText {
    private static let indentation = "    "

    static func append(_ processes: [ProcessDetails], title: String = "Other Processes", to text: inout CrashText) {
        guard !processes.isEmpty else { return }
        text.line("\(title):")
        text.blank()
        for process in processes { append(process, to: &text) }
    }

    private static func append(_ process: ProcessDetails, to text: inout CrashText) {
        text.line("  \(process.title), child of \(process.parentPid), state \(process.state)")
        let command = process.command
        if !command.isEmpty { text.line("  Command: \(command)") }
        if let waits = process.waitText { text.line("  Waits: \(waits)") }
        if let failure = process.failure { text.line("  Stacks: none, \(failure)") }
        for note in process.capture?.notes ?? [] { text.line("  Note: \(note)") }
        for (stack, thread) in zip(process.stacks, process.threads) {
            let state = stack.details.map { ", state \($0.state)" } ?? ""
            text.line("  \(stack.title) tid \(stack.id ?? 0)\(state):")
            for (number, frame) in thread.frames.enumerated() {
                text.frame(number, frame, process.usedImages, indentation: indentation)
            }
            for (number, frame) in (stack.details?.asynchronousFrames ?? []).enumerated() {
                text.frame(
                    thread.frames.count + number, frame, process.usedImages, mark: " [async]", indentation: indentation)
            }
        }
        text.blank()
    }
}

extension ProcessDetails {
    /// `worker [4243]`.
    var title: String { "\(name) [\(pid)]" }

    /// The command line as one text.
    var command: String { commandLine.joined(separator: " ") }

    /// What its first thread waits for; nil when nothing is known.
    var waitText: String? { waits.flatMap { WaitText($0).whole } }
}

extension LinuxDetails {
    /// The other processes in the main thread's chain of waits, and those that are stuck while it only waits.
    var waitingProcesses: [ProcessDetails] {
        let named = Set(
            (waits ?? []).flatMap { [$0.process, $0.holder?.process].compactMap(\.self) }
                + (findings ?? []).flatMap { $0.processes ?? [] })
        return (processes ?? []).filter { named.contains($0.pid) }
    }
}
