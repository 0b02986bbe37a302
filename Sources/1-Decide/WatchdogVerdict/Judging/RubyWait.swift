// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The wait of a Ruby thread, which sleeps in poll(2) on an eventfd of its own, whatever it waits for.
///
/// Distributions strip the interpreter, so only its exported functions tell.
struct RubyWait {
    private let stack: NamedStack
    /// Whether no other thread could end the wait.
    private let isAlone: Bool

    private static let sleeps = ["rb_thread_sleep_forever", "rb_thread_wait_for", "rb_thread_sleep"]
    private static let children = ["rb_waitpid"]

    /// - Returns: nil for a thread that does not wait in this way.
    init?(_ stack: NamedStack, _ evidence: HangEvidence, isAlone: Bool) {
        guard let call = stack.syscall, ["poll", "ppoll"].contains(call), stack.images.count > 1,
            stack.images.prefix(3).contains(where: { $0.hasPrefix("libruby") || $0.hasPrefix("ruby") }),
            evidence.waits.first?.subject?.hasSuffix(": eventfd") == true
        else { return nil }
        self.stack = stack
        self.isAlone = isAlone
    }

    /// What the wait is for; nil for a sleep.
    var finding: Finding? {
        guard !stack.contains(Self.sleeps) else { return nil }
        let source = "poll on an eventfd, in \(stack.images[1].singleLine(limit: 64))"
        // Ruby ends a program whose only thread waits for a lock, a queue or another thread.
        if isAlone || stack.contains(Self.children) {
            return Finding(kind: .childProcess, text: "The thread waits for a child process", source: source)
        }
        let what =
            stack.contains(["rb_mutex_sleep"])
            ? "a condition variable of Ruby" : "a lock, a queue or another thread of Ruby"
        return Finding(
            kind: .conditionVariable, text: "The thread waits for \(what); nothing records who will wake it",
            source: source)
    }
}
