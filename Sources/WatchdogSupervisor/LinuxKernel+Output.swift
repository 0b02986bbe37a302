// SPDX-License-Identifier: Apache-2.0

import WatchdogLinux

extension LinuxKernel {
    private static let journalVariable = "JOURNAL_STREAM"

    /// Opens where the program's output goes, and connects the program to it.
    func openOutputs(for request: inout SpawnRequest) throws(LinuxError) -> OutputDescriptors {
        guard let plan = configuration.outputs else { return OutputDescriptors() }
        let outputs = try OutputDescriptors(opening: plan, identifier: configuration.name)
        if let refusal = outputs.journalRefusal { host.journalRefused(refusal, subject) }
        outputs.apply(to: &request)
        // watchdogd's own is another stream.
        request.environment[Self.journalVariable] = outputs.journalStream
        return outputs
    }

    /// - Parameter process: the main process.
    func logSource(of log: OutputDescriptors.Log, process: Int32) -> LogSource {
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
