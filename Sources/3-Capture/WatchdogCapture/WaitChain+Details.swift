// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
package import WatchdogLinux
package import WatchdogVerdict

extension WaitChain {
    /// The chain in the form that reports use.
    package var details: [WaitDetails] {
        waits.enumerated().map { index, wait in
            var details = wait.details
            details.isDeadlocked = cycleStart.map { index >= $0 } ?? false
            guard wait.holder?.relation == .holds else { return details }
            details.priority = priority(of: wait.process, wait.thread)
            details.holder?.priority = wait.holder.flatMap { holder in
                holder.thread.flatMap { priority(of: holder.process, $0) }
            }
            return details
        }
    }
}

extension Wait {
    /// The wait in the form that reports use.
    package var details: WaitDetails {
        WaitDetails(
            process: Int(process), thread: Int(thread), name: name, syscall: syscall, subject: subject,
            peer: peer, holder: holder.map { WaitDetails.Holder($0) }, sources: sources)
    }
}

extension WaitTrail {
    /// The trail in the form that reports use, not judged yet; nil if it leads nowhere.
    package var details: TrailDetails? {
        let hops = hops.map { hop in
            TrailDetails.Hop(
                link: hop.link, process: Int(hop.process), name: hop.name, sight: hop.sight,
                thread: Int(hop.thread), state: hop.state.letter, wait: hop.wait?.details, isIdle: hop.isIdle)
        }
        return TrailDetails(hops: hops, cycleStart: cycleStart, closing: closing, isCut: isCut)
    }

    /// The processes whose stacks may be revealed, unless they were captured already or their IDs have been reused.
    ///
    /// - Parameter members: the app's own processes.
    package func strangers(to members: Set<Int32>) -> [ProcessStat] {
        hops.compactMap { hop in
            guard hop.sight == .whole, !members.contains(hop.process), let stat = ProcessStat.read(hop.process),
                stat.startTime == hop.startTime
            else { return nil }
            return stat
        }
    }
}

private func priority(of process: Int32, _ thread: Int32) -> Int? {
    ProcessStat.read(process, thread: thread).map { Int($0.priority) }
}

extension WaitDetails.Holder {
    fileprivate init(_ holder: Wait.Holder) {
        self.init(
            relation: holder.relation, process: Int(holder.process), thread: holder.thread.map { Int($0) },
            name: holder.name, state: holder.state?.letter)
    }
}
