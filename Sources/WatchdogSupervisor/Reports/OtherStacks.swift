// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WatchdogBase
import WatchdogCapture
import WatchdogLinux
import WatchdogReport
import WatchdogVerdict

/// Names the stacks of an app's processes other than its main process.
///
/// Isolation: any thread; each process is named once.
final class OtherStacks: Sendable {
    /// When the remaining processes keep their addresses without names, so that the report is not late.
    private static let time = Duration.seconds(5)

    private let snapshot: TreeSnapshot
    private let symbolicator: Symbolicator
    private let deadline = Instant.now() + time
    private let named = Mutex<[Int: CapturedProcess]>([:])

    init(_ snapshot: TreeSnapshot, _ symbolicator: Symbolicator) {
        self.snapshot = snapshot
        self.symbolicator = symbolicator.limited(work: .milliseconds(1500), budget: Self.time)
    }

    /// The number of processes.
    var count: Int { snapshot.members.count }

    /// Names the stacks of one process.
    func name(_ index: Int) {
        guard let stacks = snapshot.members[index].snapshot else { return }
        let process =
            Instant.now() < deadline
            ? symbolicator.symbolicate(stacks)
            : CapturedProcess.withoutSymbols(from: stacks, because: "there was no time to symbolicate its frames")
        named.withLock { $0[index] = process }
    }

    /// Adds the processes to the facts.
    func complete(_ facts: inout IncidentFacts) {
        let named = named.withLock(\.self)
        facts.notes += snapshot.notes
        facts.others = snapshot.members.enumerated().map { index, member in
            var process = OtherProcess(
                pid: Int(member.stat.id), parentPID: Int(member.stat.parent), name: member.stat.name,
                state: member.stat.state.letter.first ?? "?")
            process.arguments = member.arguments.map(\.description)
            process.waits = member.waits.map { $0.details.map { $0.clearing(main: facts.pid) } } ?? []
            process.capture = named[index]
            process.failure = member.failure
            return process
        }
    }
}

extension WaitDetails {
    /// The wait without the state of the main process, which the capture itself had stopped.
    fileprivate func clearing(main: Int) -> WaitDetails {
        var wait = self
        if wait.holder?.process == main, wait.holder?.state == "t" { wait.holder?.state = nil }
        return wait
    }
}
