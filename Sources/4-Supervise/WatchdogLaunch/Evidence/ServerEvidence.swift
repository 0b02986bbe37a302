// SPDX-License-Identifier: Apache-2.0

package import WatchdogLinux

/// A thread of an app, other than its main thread, that should answer a probe: of a process of its own, or of the main process.
///
/// Isolation: the loop's thread.
package final class ServerEvidence {
    package let process: Pidfd
    package let name: String
    package let parent: Int32
    /// The thread.
    package let thread: ThreadEvidence
    /// Whether it has accepted the probe's connection; if not, it listens.
    var hasAccepted: Bool

    package var pid: Int32 { process.pid }

    init(_ process: Pidfd, _ stat: ProcessStat, _ thread: ThreadEvidence, hasAccepted: Bool) {
        self.process = process
        self.thread = thread
        self.hasAccepted = hasAccepted
        (name, parent) = (stat.name, stat.parent)
    }
}
