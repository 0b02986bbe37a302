// SPDX-License-Identifier: Apache-2.0

package import WatchdogLinux

extension ProcessSources {
    /// Forks both; call it on the main thread before any other thread exists.
    ///
    /// - Parameter closer: what the program left that this process executed before.
    /// - Throws: ``RunError``, because without them a stranger could keep watchdogd from ending.
    package static func forked(after closer: CloserSource? = nil) throws(RunError) -> ProcessSources {
        do throws(LinuxError) {
            return try start(after: closer)
        } catch {
            throw RunError.internalFailure("\(error)")
        }
    }
}
