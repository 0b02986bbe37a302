// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// The controlling terminal and which process group reads from it.
public struct Terminal: Sendable {
    /// The terminal's descriptor, which belongs to somebody else.
    public let descriptor: Int32

    /// Nil when the descriptor is no terminal, or not the one that controls this process's session.
    public init?(_ descriptor: Int32) {
        guard isatty(descriptor) == 1, tcgetsid(descriptor) == getsid(0) else { return nil }
        self.descriptor = descriptor
    }

    /// True when the calling process is in the foreground: it may read, and `^C` reaches it.
    public var isForeground: Bool { tcgetpgrp(descriptor) == getpgrp() }

    /// The process group in the foreground; nil when there is none.
    public var foregroundGroup: Int32? {
        let group = tcgetpgrp(descriptor)
        return group > 0 ? group : nil
    }

    /// Puts a process group of this session into the foreground.
    public func setForeground(group: Int32) throws(LinuxError) {
        _ = try check("put process group \(group) into the foreground") {
            wd_terminal_set_foreground(descriptor, group)
        }
    }

    /// Puts the calling process's group into the foreground.
    public func takeForeground() throws(LinuxError) {
        try setForeground(group: getpgrp())
    }
}
