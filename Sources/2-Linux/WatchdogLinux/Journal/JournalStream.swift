// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// Connections that carry a program's output to journald line by line, without passing through this process.
///
/// A stream lives as long as somebody holds it: a program that has it as its standard output continues to print while
/// this process is restarted. Each line is attributed to the process that printed it.
public enum JournalStream {
    /// Connects to journald without waiting for it.
    ///
    /// While journald does not read, a program can write until the socket's buffer is full (8 MiB for root). It then
    /// blocks in write(2), like every systemd service.
    ///
    /// - Parameters:
    ///   - identifier: The `SYSLOG_IDENTIFIER` of the lines.
    ///   - priority: The priority of lines without a level prefix.
    ///   - hasLevelPrefix: Whether lines may begin with their priority, such as `<4>`: sd-daemon(3).
    ///   - address: Where journald listens.
    /// - Throws: ``LinuxError`` immediately if journald does not run (ENOENT, ECONNREFUSED) or does not accept
    ///   connections right now (EAGAIN).
    public static func open(
        identifier: String, priority: JournalPriority = .info, hasLevelPrefix: Bool = true,
        address: JournalAddress = .system
    ) throws(LinuxError) -> OwnedDescriptor {
        let header = header(identifier: identifier, priority: priority, hasLevelPrefix: hasLevelPrefix)
        return OwnedDescriptor(
            taking: try check("connect to the journal at \(address.streams)") {
                wd_journal_stream(address.streams, header, header.count)
            })
    }

    /// The header of a stream: the identifier, the unit (empty: journald determines it from the sender's cgroup), the
    /// priority, whether lines have level prefixes, and three zeros: no forwarding to syslog, the kernel or the
    /// console.
    static func header(identifier: String, priority: JournalPriority, hasLevelPrefix: Bool) -> [UInt8] {
        let name = identifier.utf8.prefix(255).filter { $0 != UInt8(ascii: "\n") && $0 != 0 }
        return name + Array("\n\n\(priority.rawValue)\n\(hasLevelPrefix ? 1 : 0)\n0\n0\n0\n".utf8)
    }

    /// The value of `JOURNAL_STREAM` for a program whose standard error, or else standard output, is this descriptor.
    ///
    /// It tells the program that it may write to the journal directly: systemd.exec(5).
    public static func identity(of descriptor: Int32) -> String? {
        identity(of: descriptor, in: getpid())
    }

    /// The same for a descriptor of another process; also nil if that must not be inspected.
    public static func identity(of descriptor: Int32, in process: Int32) -> String? {
        var status = stat()
        guard stat("/proc/\(process)/fd/\(descriptor)", &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else {
            return nil
        }
        return "\(status.st_dev):\(status.st_ino)"
    }

    /// Whether a descriptor of this process is the stream to journald that it was started with.
    public static func isConnected(_ descriptor: Int32, environment: Environment = .inherited) -> Bool {
        environment["JOURNAL_STREAM"].map { $0 == identity(of: descriptor) } ?? false
    }
}
