// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux

/// An app's standard input, output and error.
struct StandardStreams {
    let input: OwnedDescriptor
    let output: OwnedDescriptor
    let error: OwnedDescriptor
    /// `JOURNAL_STREAM` for the app; nil if neither output nor error leads to the journal.
    let journalStream: String?
    /// Where the output can be read, from this launch on.
    let log: Log?
    /// Why output meant for the journal goes to watchdogd's standard error instead.
    let journalRefusal: LinuxError?

    var passed: [SpawnRequest.PassedDescriptor] {
        [.init(input, as: 0), .init(output, as: 1), .init(error, as: 2)]
    }

    /// Opens the standard streams that this process was started without.
    ///
    /// Otherwise the next file opened would get the number of a closed stream, and programs' output would go there.
    static func openMissing() {
        while true {
            let descriptor = open("/dev/null", O_RDWR)
            guard descriptor >= 0, descriptor <= STDERR_FILENO else {
                if descriptor > STDERR_FILENO { close(descriptor) }
                return
            }
        }
    }
}
