// SPDX-License-Identifier: Apache-2.0

import CLinux

/// A system call that a thread is blocked in, from `/proc/PID/task/TID/syscall`: proc_pid_syscall(5).
struct BlockedCall: Hashable {
    let number: Int
    let arguments: [UInt64]

    /// Nil for a thread that runs or is blocked outside a system call, for a 32-bit one, whose calls have other numbers, and for
    /// any other text.
    init?(parsing text: some StringProtocol) {
        let fields = text.prefix(256).split { $0 == " " || $0 == "\n" }
        guard fields.count == 9, let number = Int(fields[0]), number >= 0 else { return nil }
        let words = fields.dropFirst().compactMap { $0.hasPrefix("0x") ? UInt64($0.dropFirst(2), radix: 16) : nil }
        guard words.count == 8 else { return nil }
        // Stack and code of a 64-bit program do not both lie below 4 GiB; nothing lies below vm.mmap_min_addr.
        let low: Range<UInt64> = 0x1_0000..<1 << 32
        guard !low.contains(words[6]) || !low.contains(words[7]) else { return nil }
        self.number = number
        arguments = Array(words.prefix(6))
    }

    var kind: wd_call { wd_call_kind(number) }

    /// An argument that the kernel takes as an int: the upper half of the register may contain anything.
    func integer(_ index: Int) -> Int32 { Int32(truncatingIfNeeded: arguments[index]) }
}

/// Whether a program's main thread has nothing to do.
public enum EventWait {
    /// Whether the main thread sleeps in a call that waits for events of any kind, as an event loop does.
    ///
    /// False if the process is gone or may not be read. Reading may wait for the process while it executes a program.
    public static func hasMainThread(of pid: Int32) -> Bool {
        guard let line = Procfs.line("/proc/\(pid)/syscall", limit: 256), let call = BlockedCall(parsing: line) else {
            return false
        }
        return wd_call_waits_for_events(call.number)
    }
}
