// SPDX-License-Identifier: Apache-2.0

import CRecorder
import Glibc
import WatchdogBase
import WatchdogLinux

/// A child that waits before its execve(2).
///
/// Isolation: belongs to the thread that creates it, which also traces it.
final class HeldProgram {
    let pid: Int32
    let pidfd: Pidfd
    /// End of file on it means that execve(2) has succeeded.
    let status: OwnedDescriptor
    private var gate: OwnedDescriptor?

    init(_ request: RecordingRequest, environment: Environment, inherited: Int32) throws(LinuxError) {
        var child = wd_record_child()
        let head = Self.head(of: request.executable)
        let runsByShell = head.map { !$0.prefix { $0 != 10 }.contains(0) } ?? false
        let result = Self.withStrings(request.command.map { ByteString($0) }) { arguments in
            Self.withStrings(environment.entries) { entries in
                // The spare entry before the first argument is for the shell.
                wd_record_child_hold(
                    request.executable, arguments + 1, entries + 1, runsByShell, inherited, &child)
            }
        }
        guard result == 0 else { throw LinuxError("create a process", Errno(rawValue: errno)) }
        pid = child.pid
        pidfd = Pidfd(pid: child.pid, descriptor: OwnedDescriptor(taking: child.pidfd))
        status = OwnedDescriptor(taking: child.status)
        gate = OwnedDescriptor(taking: child.gate)
    }

    /// Kill a child that was never released.
    deinit { if gate != nil { abandon() } }

    /// Kills the child before its execve(2), and schedules its reaping.
    func abandon() {
        gate = nil
        try? pidfd.send(SIGKILL)
        pidfd.reapWhenItExits()
    }

    /// Lets the child execute the program.
    func release() {
        var byte: UInt8 = 1
        if let gate { _ = Glibc.write(gate.number, &byte, 1) }
        gate = nil
    }

    /// The reason why execve(2) failed; nil if it has succeeded or not returned yet.
    func failure() -> Errno? {
        var number: Int32 = 0
        guard read(status.number, &number, 4) == 4 else { return nil }
        return Errno(rawValue: number)
    }

    /// The first bytes of a program's file; nil if it cannot be read.
    static func head(of path: String) -> [UInt8]? {
        guard let file = try? OwnedDescriptor(opening: path, flags: O_RDONLY | O_NONBLOCK | O_NOCTTY) else {
            return nil
        }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = pread(file.number, &bytes, bytes.count, 0)
        return count < 0 ? nil : Array(bytes.prefix(count))
    }

    /// Pointers to the strings, preceded by one spare entry and followed by NULL.
    private static func withStrings<Result>(
        _ strings: [ByteString], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        var copies: [UnsafeMutablePointer<CChar>?] = [nil]
        for string in strings {
            copies.append(strdup(string.bytes.map { CChar(bitPattern: $0) } + [0]))
        }
        copies.append(nil)
        defer { for copy in copies { free(copy) } }
        return copies.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { preconditionFailure("the list has at least two entries") }
            return body(base)
        }
    }
}
