// SPDX-License-Identifier: Apache-2.0

import WatchdogReport
import WatchdogVerdict

extension ZooEntry {
    /// A process besides the main process, and the report's expected content about its first thread.
    struct Member: Sendable, CustomStringConvertible {
        /// The name of the process.
        let name: String
        /// The system call in which it blocks; nil if it does not.
        let call: String?
        /// A function that must be on its stack.
        let frame: String
        /// A part of its wait; nil if that is unknown.
        let wait: String?

        init(_ name: String, in call: String? = nil, frame: String = "__libc_start_main", wait: String? = nil) {
            self.name = name
            self.call = call
            self.frame = frame
            self.wait = wait
        }

        var description: String {
            "\(name) in \(call ?? "no call") below \(frame)" + (wait.map { ", waiting for \($0)" } ?? "")
        }

        /// Whether a process of a report matches this one.
        func isDescribed(by process: ProcessDetails) -> Bool {
            guard process.name == name, let stack = process.stacks.first else { return false }
            if let call, stack.systemCall?.name != call { return false }
            if let wait, !Self.waits(of: process).contains(wait) { return false }
            return stack.calls.contains { $0.function?.hasPrefix(frame) == true }
        }

        /// A process of a report, in enough words to explain a mistake.
        static func describe(_ process: ProcessDetails) -> String {
            let stack = process.stacks.first
            let calls = (stack?.calls ?? []).prefix(8).map(\.name).joined(separator: " < ")
            return "\(process.name) in \(stack?.systemCall?.name ?? "no call"): \(process.failure ?? calls)"
                + ", waiting for \(waits(of: process))"
        }

        private static func waits(of process: ProcessDetails) -> String {
            WaitText(process.waits ?? []).whole ?? "nothing known"
        }
    }
}
