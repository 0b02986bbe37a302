// SPDX-License-Identifier: Apache-2.0

import Glibc
package import WatchdogLinux

/// An app's standard input, output and error.
package struct StandardStreams {
    let input: OwnedDescriptor
    package let output: OwnedDescriptor
    package let error: OwnedDescriptor
    /// `JOURNAL_STREAM` for the app; nil if neither output nor error leads to the journal.
    let journalStream: String?
    /// Where the output can be read, from this launch on.
    package let log: Log?
    /// Why output meant for the journal goes to watchdogd's standard error instead.
    package let journalRefusal: LinuxError?

    package init(
        input: OwnedDescriptor, output: OwnedDescriptor, error: OwnedDescriptor, journalStream: String?, log: Log?,
        journalRefusal: LinuxError?
    ) {
        self.input = input
        self.output = output
        self.error = error
        self.journalStream = journalStream
        self.log = log
        self.journalRefusal = journalRefusal
    }

    package var passed: [SpawnRequest.PassedDescriptor] {
        [.init(input, as: 0), .init(output, as: 1), .init(error, as: 2)]
    }

    /// Opens the standard streams that this process was started without.
    ///
    /// Otherwise the next file opened would get the number of a closed stream, and programs' output would go there.
    package static func openMissing() {
        while true {
            let descriptor = open("/dev/null", O_RDWR)
            guard descriptor >= 0, descriptor <= STDERR_FILENO else {
                if descriptor > STDERR_FILENO { close(descriptor) }
                return
            }
        }
    }
}
