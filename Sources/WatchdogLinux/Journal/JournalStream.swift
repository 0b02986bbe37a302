// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// Connections by which the output of a program goes to journald line by line, without passing through this process.
///
/// A stream lives as long as somebody holds it: the program that got it as its standard output goes on printing when
/// this process is restarted. Each line is filed under the process that printed it.
public enum JournalStream {
    /// Connects to journald without waiting for it.
    ///
    /// While journald does not read, a program can write as much as the socket's buffer takes (8 MiB for root), then it
    /// blocks in write(2), as every service of systemd does.
    ///
    /// - Parameters:
    ///   - identifier: `SYSLOG_IDENTIFIER` of the lines.
    ///   - priority: Of lines that do not begin with one.
    ///   - hasLevelPrefix: Whether a line may begin with its priority, such as `<4>`: sd-daemon(3).
    ///   - address: Where journald listens.
    /// - Throws: ``LinuxError`` at once when there is no journald (ENOENT, ECONNREFUSED), or when it does not take
    ///   connections now (EAGAIN).
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

    /// What a stream begins with: the identifier, the unit (empty: journald finds it by the sender's cgroup), the
    /// priority, whether lines have level prefixes, and that nothing is forwarded to syslog, the kernel and the console.
    static func header(identifier: String, priority: JournalPriority, hasLevelPrefix: Bool) -> [UInt8] {
        let name = identifier.utf8.prefix(255).filter { $0 != UInt8(ascii: "\n") && $0 != 0 }
        return name + Array("\n\n\(priority.rawValue)\n\(hasLevelPrefix ? 1 : 0)\n0\n0\n0\n".utf8)
    }

    /// The value of `JOURNAL_STREAM` for a program whose standard error, or else output, is this descriptor.
    ///
    /// By it the program knows that it may write to the journal directly: systemd.exec(5).
    public static func identity(of descriptor: Int32) -> String? {
        identity(of: descriptor, in: getpid())
    }

    /// The same for a descriptor of another process; nil also when that may not be looked at.
    public static func identity(of descriptor: Int32, in process: Int32) -> String? {
        var status = stat()
        guard stat("/proc/\(process)/fd/\(descriptor)", &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else {
            return nil
        }
        return "\(status.st_dev):\(status.st_ino)"
    }

    /// Whether a descriptor of this process is a stream to journald that it was started with.
    public static func isConnected(_ descriptor: Int32, environment: Environment = .inherited) -> Bool {
        environment["JOURNAL_STREAM"].map { $0 == identity(of: descriptor) } ?? false
    }
}
