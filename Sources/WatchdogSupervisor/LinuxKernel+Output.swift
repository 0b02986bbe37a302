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
    /// Finds the output of a process again that the watchdogd before this one has launched.
    ///
    /// In the journal only, where it reads nothing but what the app itself has printed: of a file, the process could name
    /// any as its own.
    func findLog(of process: Int32) {
        let stream = ProcessFacts.environment(process)?["JOURNAL_STREAM"]
        let isJournal = [2, 1].contains { stream != nil && JournalStream.identity(of: $0, in: process) == stream }
        logSource = isJournal ? logSource(of: .journal, process: process) : nil
    }

    /// - Parameter process: the main process.
    func logSource(of log: StandardStreams.Log, process: Int32) -> LogSource {
        switch log {
        case .file(let file):
            .file(file)
        case .journal:
            .journal(
                JournalMatch(
                    // Outside of a cgroup of its own it is in watchdogd's, and so are others.
                    cgroup: isInCgroup ? ProcessFacts.cgroup(process) : nil,
                    processes: [process],
                    since: main?.launchedAt ?? now
                ))
        }
    }

    private var isInCgroup: Bool {
        if case .cgroup = containment { true } else { false }
    }
}
