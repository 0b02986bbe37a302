// SPDX-License-Identifier: Apache-2.0

/// A thread that is frozen with its cgroup, for which the kernel has no state letter.
enum Freezer {
    /// `__refrigerator` in `kernel/freezer.c`; before Linux 3.3 without underscores.
    private static let refrigerators: Set<String> = ["__refrigerator", "refrigerator", "freezer"]

    /// Whether the freezer of cgroup version 1 holds a thread, which shows as an uninterruptible sleep.
    static func holdsUninterruptibly(_ waitChannel: String?) -> Bool {
        waitChannel.map(refrigerators.contains) ?? false
    }
}

extension HangEvidence {
    /// Whether a wait leads to a process that was frozen when it was looked at: one in the freezer of version 1 cannot be
    /// captured.
    func namesFrozen(_ process: Int) -> Bool {
        waits.contains { $0.holder?.process == process && $0.holder?.state == "F" }
    }
}

extension CapturedThread {
    /// Whether a freezer of either version holds it.
    ///
    /// That of version 2 is a part of `get_signal`, where only threads that are stopped or traced sleep otherwise.
    var isFrozen: Bool {
        state == "S"
            ? ["get_signal", "do_freezer_trap"].contains(waitChannel)
            : state == "D" && Freezer.holdsUninterruptibly(waitChannel)
    }
}
