// SPDX-License-Identifier: Apache-2.0

/// A wait that only another thread of the process could end, in a process that has none.
enum SoleThread {
    /// Whether the process has one thread, and that waits without a limit for a lock or a wake-up in memory of its own.
    ///
    /// Only a signal handler could end that.
    static func isStuck(_ capture: CapturedProcess) -> Bool {
        guard capture.threads.count == 1, let thread = capture.threads.first, thread.state == "S",
            let call = SystemCall.blocking(thread.syscall), call.name == "futex", call.arguments.count > 3
        else { return false }
        // FUTEX_WAIT and FUTEX_WAIT_BITSET with FUTEX_PRIVATE_FLAG, and no timeout: futex(2).
        let operation = call.arguments[1]
        return [0, 9].contains(operation & 0x7f) && operation & 0x80 != 0 && call.arguments[3] == 0
    }

    static func finding(in capture: CapturedProcess, _ evidence: HangEvidence) -> Finding? {
        guard isStuck(capture), evidence.waits.first?.holder == nil else { return nil }
        return Finding(
            kind: .noOtherThread,
            text: "The thread waits for a lock or a wake-up, and the process has no other thread that could give it",
            source: "/proc/PID/task and /proc/PID/syscall")
    }
}
