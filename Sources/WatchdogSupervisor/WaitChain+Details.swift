// SPDX-License-Identifier: Apache-2.0

import WatchdogLinux
import WatchdogReport

extension WaitChain {
    /// The chain in the form of a report.
    var details: [WaitDetails] {
        waits.enumerated().map { index, wait in
            WaitDetails(
                process: Int(wait.process),
                thread: Int(wait.thread),
                name: wait.name,
                syscall: wait.syscall,
                subject: wait.subject,
                holder: wait.holder.map { WaitDetails.Holder($0) },
                isDeadlocked: cycleStart.map { index >= $0 } ?? false,
                sources: wait.sources
            )
        }
    }
}

extension WaitDetails.Holder {
    fileprivate init(_ holder: Wait.Holder) {
        let relation: Relation =
            switch holder.relation {
            case .holds: .holds
            case .locks: .locks
            case .child: .child
            case .anyChild: .anyChild
            case .ends: .ends
            }
        self.init(
            relation: relation,
            process: Int(holder.process),
            thread: holder.thread.map { Int($0) },
            name: holder.name,
            state: holder.state?.letter
        )
    }
}
