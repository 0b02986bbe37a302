// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
package import WatchdogLinux

/// A process that watchdogd did not start and whose stacks it may read.
package struct ForeignProcess {
    package let id: Int32
    package let name: String
    package let path: String
    package let startTime: UInt64
    package let pidfd: Pidfd

    /// Checks that the stacks of a process can be read.
    ///
    /// - Throws: ``RunError``, one line that says what is wrong and what to do.
    package init(_ id: Int32) throws(RunError) {
        guard id != getpid() else { throw .usage("\(id) is this watchdogd: it cannot capture itself") }
        guard let stat = ProcessStat.read(id), let status = ProcessStatus.read(id) else {
            throw RunError("there is no process \(id)", exitCode: 66)
        }
        let name = stat.name.singleLine(limit: 64)
        guard status.process == id else {
            throw .usage("\(id) is a thread of process \(status.process); use \(status.process)")
        }
        guard stat.state != .zombie, stat.state != .dead else {
            throw RunError("process \(id) (\(name)) has ended and waits to be reaped", exitCode: 66)
        }
        let path = ProcessFacts.executable(id)
        if path == nil, Self.isKernelThread(id) {
            throw RunError(
                "process \(id) (\(name)) is a thread of the kernel: it has no stack of its own", exitCode: 66)
        }
        guard access("/proc/\(id)/maps", R_OK) == 0, Self.isReadable(id) else { throw Self.refusal(id, name, status) }
        do {
            pidfd = try Pidfd(opening: id)
        } catch {
            throw RunError("cannot read process \(id): \(error)", exitCode: 66)
        }
        guard ProcessStat.read(id)?.startTime == stat.startTime else {
            throw RunError("there is no process \(id)", exitCode: 66)
        }
        self.id = id
        self.name = name
        self.path = path ?? name
        startTime = stat.startTime
    }

    /// Only kernel threads have no executable: readlink(2) fails with ENOENT.
    private static func isKernelThread(_ id: Int32) -> Bool {
        var buffer: CChar = 0
        return readlink("/proc/\(id)/exe", &buffer, 1) < 0 && errno == ENOENT
    }

    private static func isReadable(_ id: Int32) -> Bool {
        guard let file = try? OwnedDescriptor(opening: "/proc/\(id)/maps", flags: O_RDONLY) else { return false }
        var byte: UInt8 = 0
        return read(file.number, &byte, 1) >= 0
    }

    private static func refusal(_ id: Int32, _ name: String, _ status: ProcessStatus) -> RunError {
        let why =
            status.user != geteuid()
            ? "it runs as user \(status.user), you are user \(geteuid()); run as root (CAP_SYS_PTRACE) or as that user"
            : "it has more rights than you or has made itself non-dumpable; run as root (CAP_SYS_PTRACE)"
        return .notPermitted("not permitted to read process \(id) (\(name)): \(why)")
    }
}
