// SPDX-License-Identifier: Apache-2.0

/// The parts of `/proc/PID/status` that are not in `stat`: proc_pid_status(5).
public struct ProcessStatus: Hashable, Sendable {
    /// The process that traces this one, usually a debugger; nil if none does.
    public let tracer: Int32?
    /// The thread group: the process ID, even for a thread.
    public let process: Int32
    /// The effective user ID.
    public let user: UInt32
    /// The effective group ID.
    public let group: UInt32
    /// Whether the kernel is writing a core dump of the process.
    public let isDumpingCore: Bool
    /// Resident memory in bytes; nil for a zombie.
    public let residentBytes: UInt64?

    /// Reads the status of a process or thread; nil if it is gone.
    public static func read(_ pid: Int32) -> ProcessStatus? {
        Procfs.read("/proc/\(pid)/status", limit: 16 << 10).flatMap { ProcessStatus(parsing: $0) }
    }

    /// The lines on a process's memory, from `VmPeak` to `VmSwap`; nil if the process is gone or has no memory.
    ///
    /// They are equal for processes that share their memory. A forked copy differs from the start: fork(2) leaves out
    /// the pages of files, and the peak begins anew, `dup_mm` in kernel/fork.c. kcmp(2) would need the right to trace.
    static func memoryLines(_ pid: Int32) -> [ArraySlice<UInt8>]? {
        let lines = Procfs.read("/proc/\(pid)/status", limit: 16 << 10)?.split(separator: UInt8(ascii: "\n")) ?? []
        let memory = lines.filter { line in [Array("Vm".utf8), Array("Rss".utf8)].contains { line.starts(with: $0) } }
        return memory.isEmpty ? nil : memory
    }

    /// Parses the lines of a `status` file; nil if a mandatory line is missing.
    public init?(parsing text: some Collection<UInt8>) {
        var tracer: Int32?
        var process: Int32?
        var isDumpingCore = false
        var user: UInt32?
        var group: UInt32?
        var residentKilobytes: UInt64?
        // The name comes first and cannot contain a newline, because the kernel escapes it.
        for line in text.split(separator: UInt8(ascii: "\n")) {
            func word<Number: FixedWidthInteger>(_ index: Int, of name: StaticString) -> Number? {
                let key = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
                guard line.starts(with: key) else { return nil }
                let words = line.dropFirst(key.count).split { $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: " ") }
                return words.count > index ? Number(decimal: words[index]) : nil
            }
            switch line.first {
            case UInt8(ascii: "T"):
                tracer = tracer ?? word(0, of: "TracerPid:")
                process = process ?? word(0, of: "Tgid:")
            case UInt8(ascii: "C"): isDumpingCore = isDumpingCore || word(0, of: "CoreDumping:") == 1
            case UInt8(ascii: "U"): user = user ?? word(1, of: "Uid:")
            case UInt8(ascii: "G"): group = group ?? word(1, of: "Gid:")
            case UInt8(ascii: "V"): residentKilobytes = residentKilobytes ?? word(0, of: "VmRSS:")
            default: continue
            }
        }
        guard let tracer, let process, let user, let group else { return nil }
        self.tracer = tracer == 0 ? nil : tracer
        self.process = process
        self.user = user
        self.isDumpingCore = isDumpingCore
        self.group = group
        residentBytes = residentKilobytes.map { $0.multipliedReportingOverflow(by: 1024).partialValue }
    }
}
