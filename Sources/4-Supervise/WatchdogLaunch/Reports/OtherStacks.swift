// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WatchdogBase
import WatchdogCapture
import WatchdogLinux
import WatchdogReport
import WatchdogVerdict

/// Names the stacks of processes other than the main process: the app's, and those of others to which its wait leads.
///
/// Isolation: any thread; each process is named once, and again only by ``retry(with:until:)``.
final class OtherStacks: Sendable {
    /// When the remaining processes keep their addresses without names, so that the report is not late.
    private static let time = Duration.seconds(5)

    private let snapshots: [TreeSnapshot]
    private let symbolicator: Symbolicator
    private let deadline = Instant.now() + time
    private let named = Mutex<[Int: CapturedProcess]>([:])

    init(_ snapshots: [TreeSnapshot], _ symbolicator: Symbolicator) {
        self.snapshots = snapshots
        self.symbolicator = symbolicator.limited(work: .milliseconds(1500), budget: Self.time)
    }

    /// The number of processes.
    var count: Int { members.count }

    private var members: [TreeSnapshot.Member] { snapshots.flatMap(\.members) }

    /// Names the stacks of one process.
    func name(_ index: Int) {
        guard let stacks = members[index].snapshot else { return }
        let process =
            Instant.now() < deadline
            ? symbolicator.symbolicate(stacks)
            : CapturedProcess.withoutSymbols(
                from: stacks, because: "there was no time to symbolicate its frames", mayPass: true)
        named.withLock { $0[index] = process }
    }

    /// Whether names are missing that another try may find.
    var isShort: Bool { named.withLock { $0.values.contains { $0.shortage != nil } } }

    /// What the stacks hold.
    var cost: StackBacklog.Cost {
        members.compactMap(\.snapshot).reduce(into: StackBacklog.Cost()) { $0.add($1) }
    }

    /// Names again what lacks names.
    func retry(with symbolicator: Symbolicator, until deadline: Instant) {
        for (index, process) in named.withLock(\.self) where process.shortage != nil {
            guard let stacks = members[index].snapshot, Instant.now() < deadline else { continue }
            let again = symbolicator.symbolicate(stacks)
            if again.shortage == nil { named.withLock { $0[index] = again } }
        }
    }

    /// The processes of one of the snapshots.
    ///
    /// - Parameter main: the ID of the main process.
    func processes(of snapshot: Int, besides main: Int) -> [OtherProcess] {
        let named = named.withLock(\.self)
        let first = snapshots[..<snapshot].reduce(0) { $0 + $1.members.count }
        return snapshots[snapshot].members.enumerated().map { index, member in
            var process = OtherProcess(member.stat)
            process.arguments = member.arguments.map(\.description)
            process.waits = member.waits.map { $0.details.map { $0.clearing(main: main) } } ?? []
            process.capture = named[first + index]
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

extension OtherProcess {
    /// What `/proc/PID/stat` says of a process.
    init(_ stat: ProcessStat) {
        self.init(
            pid: Int(stat.id), parentPID: Int(stat.parent), name: stat.name, state: stat.state.letter.first ?? "?")
    }
}
