// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux

/// The session that a command leads, with all processes that stayed in it.
struct CommandSession {
    let process: Pidfd
    let startTime: UInt64?

    /// Kills the command and what remains of its session.
    ///
    /// The command's process id names its session only until the command is reaped. For a child, watchdogd decides when
    /// that happens. Any other process may be reaped at any time, so each member is held by a pidfd before it is
    /// killed.
    func kill(on system: any LaunchSystem = LinuxSystem()) {
        try? process.send(SIGKILL)
        let isOurs = ProcessStat.read(process.pid)?.parent == getpid()
        if isOurs, DescriptorKind(of: process.descriptor) == .process(process.pid) {
            system.signalGroup(ledBy: process, SIGKILL)
        } else if let startTime {
            try? Containment.processTree(ProcessTree(root: process.pid, startTime: startTime)).kill()
        }
    }
}
