// SPDX-License-Identifier: Apache-2.0

import WatchdogLinux

extension ProcessSources {
    /// Forks both; call it on the main thread before any other thread exists.
    ///
    /// - Throws: ``RunError``, because without them a stranger could keep watchdogd from ending.
    static func forked() throws(RunError) -> ProcessSources {
        do throws(LinuxError) {
            return try start()
        } catch {
            throw RunError.internalFailure("\(error)")
        }
    }
}
