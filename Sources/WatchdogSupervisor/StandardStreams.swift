// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux

/// What an app is given as standard input, output and error.
struct StandardStreams {
    let input: OwnedDescriptor
    let output: OwnedDescriptor
    let error: OwnedDescriptor
    /// `JOURNAL_STREAM` for the app; nil when neither output nor error leads to the journal.
    let journalStream: String?
    /// Where the output can be read again, from here on.
    let log: Log?
    /// Why output that was to go to the journal goes to watchdogd's standard error instead.
    let journalRefusal: LinuxError?

    var passed: [SpawnRequest.PassedDescriptor] {
        [.init(input.number, as: 0), .init(output.number, as: 1), .init(error.number, as: 2)]
    }

    /// Opens what this process was started without.
    ///
    /// A closed standard stream would be given to the next file that is opened, and programs' output would go there.
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
