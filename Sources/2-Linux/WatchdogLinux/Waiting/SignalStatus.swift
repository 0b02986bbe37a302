// SPDX-License-Identifier: Apache-2.0

/// What a thread does with signals, from `/proc/PID/task/TID/status`: proc_pid_status(5).
struct SignalStatus: Hashable {
    /// The signals that the thread blocks: bit 0 for signal 1.
    let blocked: UInt64
    /// The signals for which the process has a handler.
    let caught: UInt64

    /// SIGCHLD, signal 17 on the architectures that Linux shares with this program.
    static let child: UInt64 = 1 << 16

    var catchesChild: Bool { caught & Self.child != 0 }

    /// Nil if the thread is gone or one of the lines is missing.
    init?(_ process: Int32, thread: Int32) {
        guard let text = Procfs.read("/proc/\(process)/task/\(thread)/status", limit: 8 << 10) else { return nil }
        self.init(parsing: text)
    }

    init?(parsing text: some Collection<UInt8>) {
        var sets: [String: UInt64] = [:]
        for line in text.split(separator: UInt8(ascii: "\n")) where line.starts(with: "Sig".utf8) {
            let parts = String(decoding: line, as: UTF8.self).split(separator: ":\t")
            if parts.count == 2 { sets[String(parts[0])] = UInt64(parts[1], radix: 16) }
        }
        guard let blocked = sets["SigBlk"], let caught = sets["SigCgt"] else { return nil }
        self.blocked = blocked
        self.caught = caught
    }
}
