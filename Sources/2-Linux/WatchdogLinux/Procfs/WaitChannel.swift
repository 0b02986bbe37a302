// SPDX-License-Identifier: Apache-2.0

/// The kernel function in which a thread waits: proc_pid_wchan(5).
public enum WaitChannel {
    /// Reads the name; nil if the thread runs in user space or is gone, or if the kernel hides the name.
    public static func read(_ pid: Int32, thread: Int32) -> String? {
        Procfs.read("/proc/\(pid)/task/\(thread)/wchan", limit: 256).flatMap { parse($0) }
    }

    /// Parses the name in a `wchan` file; nil for "0".
    static func parse(_ bytes: some Collection<UInt8>) -> String? {
        let name = bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != 0 }
        guard !name.isEmpty, !name.elementsEqual("0".utf8) else { return nil }
        return String(decoding: name, as: UTF8.self)
    }
}
