// SPDX-License-Identifier: Apache-2.0

import WatchdogReport

/// The stacks of a Go program's goroutines as text.
///
/// Apple's layout has no place for them. They are indented, so that no reader of that layout takes them for threads.
enum GoroutineText {
    static func append(_ body: ReportBody, to text: inout CrashText) {
        guard let goroutines = body.linux?.goroutines, !goroutines.shown.isEmpty else { return }
        text.line("Goroutines: \(goroutines.summary)")
        text.blank()
        for goroutine in goroutines.shown {
            let thread = goroutine.thread.flatMap { id in body.threads.firstIndex { $0.id == id } }
            text.line("  \(goroutine.title)\(thread.map { ", on thread \($0)" } ?? ""):")
            for (number, frame) in goroutine.frames.enumerated() {
                text.frame(number, frame, body.usedImages, indentation: "    ")
            }
        }
        text.blank()
    }
}

extension GoroutineDetails {
    /// `7 with those of the runtime, 2 of them active (go1.22.10)`.
    var summary: String {
        let active = activeCount == 0 ? "none of them active" : "\(activeCount) of them active"
        return "\(count) with those of the runtime, \(active)\(version.map { " (\($0))" } ?? "")"
    }
}
