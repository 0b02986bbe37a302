// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// The controlling terminal, and the process group that reads from it.
public struct Terminal: Sendable {
    /// The terminal's descriptor, which somebody else owns.
    public let descriptor: Int32

    /// Nil unless the descriptor is the controlling terminal of this process's session.
    public init?(_ descriptor: Int32) {
        guard isatty(descriptor) == 1, tcgetsid(descriptor) == getsid(0) else { return nil }
        self.descriptor = descriptor
    }

    /// Whether the calling process is in the foreground, so that it may read and `^C` reaches it.
    public var isForeground: Bool { tcgetpgrp(descriptor) == getpgrp() }

    /// The foreground process group; nil if there is none.
    public var foregroundGroup: Int32? {
        let group = tcgetpgrp(descriptor)
        return group > 0 ? group : nil
    }

    /// Moves a process group of this session to the foreground.
    public func setForeground(group: Int32) throws(LinuxError) {
        _ = try check("put process group \(group) into the foreground") {
            wd_terminal_set_foreground(descriptor, group)
        }
    }

    /// Moves the calling process's group to the foreground.
    public func takeForeground() throws(LinuxError) {
        try setForeground(group: getpgrp())
    }
}
