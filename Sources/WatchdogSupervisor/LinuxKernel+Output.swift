// SPDX-License-Identifier: Apache-2.0

import WatchdogLinux

extension LaunchConfiguration {
    /// Gives the program its standard streams.
    mutating func connect(_ streams: StandardStreams) {
        self.streams = streams
        // watchdogd's own is another stream.
        environment["JOURNAL_STREAM"] = streams.journalStream
    }
}

extension LinuxKernel {
    /// - Parameter process: the main process.
    func logSource(of log: StandardStreams.Log, process: Int32) -> LogSource {
        switch log {
        case .file(let file):
            .file(file)
        case .journal:
            .journal(
                JournalMatch(
                    // Without a cgroup of its own it is in watchdogd's, and so are others.
                    cgroup: cgroup == nil ? nil : ProcessFacts.cgroup(process),
                    processes: [process],
                    since: main?.launchedAt ?? now
                ))
        }
    }
}
