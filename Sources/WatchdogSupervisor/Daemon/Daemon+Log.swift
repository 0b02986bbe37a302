// SPDX-License-Identifier: Apache-2.0

import Dispatch
import WatchdogControl
import WatchdogLinux

extension Daemon {
    /// Reads the last lines that the latest launch of an app has printed, beside the loop.
    func readLog(of app: DaemonApp, lines: Int, then tell: @escaping ([LogLine]) -> Void) {
        guard lines > 0, let source = app.latest?.kernel.logSource else { return tell([]) }
        let token = token()
        logRequests[token] = tell
        let mailbox = host.mailbox
        reading.async {
            var limit = LogLimit()
            limit.lines = lines
            limit.bytes = max(limit.bytes, 256 * lines)
            let printed = source.tail(limit).map { line in
                LogLine(time: line.microseconds.map(Timestamp.init(microseconds:)), text: line.text)
            }
            mailbox.post(.daemon(.logRead(token, printed)))
        }
    }

    func logRead(_ token: Int, _ lines: [LogLine]) {
        logRequests.removeValue(forKey: token)?(lines)
    }
}
