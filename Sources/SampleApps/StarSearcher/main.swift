// SPDX-License-Identifier: Apache-2.0

// The star finder without the logger.

import Glibc
import StarSearcherStory

StarSearcher.main(isLoggerLinked: false) { message in
    syslog(message)
}

/// The system's logger, which costs nothing until it is used.
func syslog(_ message: String) {
    let line = "<6>StarSearcher: \(message)\n"
    write(STDERR_FILENO, line, line.utf8.count)
}
