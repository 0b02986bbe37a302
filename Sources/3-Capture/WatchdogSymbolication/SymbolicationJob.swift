// SPDX-License-Identifier: Apache-2.0

import CSymbolication
import FoundationEssentials
import Glibc
import WatchdogBase
public import WatchdogCapture
import WatchdogReport
import WatchdogVerdict

/// The complete job of `watchdogd-symbolicate`: reads a snapshot and writes a ``CapturedProcess`` as JSON.
public struct SymbolicationJob {
    /// The time limit; waiting for a CPU does not count.
    public var budget: Duration
    var calls = Worker.Calls()

    /// Creates a job.
    public init(budget: Duration = .seconds(3)) {
        self.budget = budget
    }

    /// Symbolicates `contents`; reduces the detail after failures or when time runs out.
    ///
    /// The work is done in child processes, because libelf and libdw parse untrusted files; if a child crashes or hangs
    /// in a file, the next one skips that file. Call this from a single-threaded process, because it forks.
    ///
    /// - Parameters:
    ///   - contents: The snapshot.
    ///   - modules: Descriptors, indexed by the snapshot's module numbers.
    ///   - output: A descriptor to which one line of JSON is written.
    /// - Returns: nil on success, or a short description of the last attempt's failure.
    public func run(_ contents: SnapshotContents, modules: [Int32], output: Int32) -> String? {
        attempt(output: output, readable: SymbolicationJob.folders(of: contents)) { attempt, clock, blackboard in
            SymbolicationJob.perform(attempt, clock, contents, modules: modules, blackboard: blackboard)
        }
    }

    /// Performs work in child processes, with less detail in each, until one stores a result.
    ///
    /// - Parameter folders: the folders whose files the work may open for reading.
    func attempt(
        output: Int32, readable folders: [String] = [debugFolder], _ perform: (Attempt, WorkClock, Blackboard) -> Int32
    ) -> String? {
        wd_worker_seal()
        if let problem = Elfutils.problem { return problem }
        // Otherwise, libdw would request missing files from network servers.
        unsetenv("DEBUGINFOD_URLS")
        let clock = WorkClock()
        var plan = AttemptPlan(start: clock.now(), budget: budget)
        var attempt = plan.current
        while true {
            do throws(Attempt.Failure) {
                let blackboard = try run(attempt, clock, readable: folders, perform)
                return Descriptor.write(blackboard.result, to: output) ? nil : "cannot write the result"
            } catch {
                guard let next = plan.next(after: error) else { return "symbolication ended with \(error)" }
                attempt = next
            }
        }
    }

    private func run(
        _ attempt: Attempt, _ clock: WorkClock, readable folders: [String],
        _ perform: (Attempt, WorkClock, Blackboard) -> Int32
    ) throws(Attempt.Failure) -> Blackboard {
        if attempt.isWithoutWorker { return try Worker.runHere { perform(attempt, clock, $0) } }
        // Addresses alone need no files by name, and opening a folder could block on a hung disk.
        let readable = attempt.depth == .addresses ? [] : folders
        return try Worker.run(until: attempt.deadline, on: clock, readable: readable, calls: calls) {
            perform(attempt, clock, $0)
        }
    }

    static let debugFolder = "/usr/lib/debug"

    /// The folders with separate debug data, and those with files that were not passed in.
    static func folders(of contents: SnapshotContents) -> [String] {
        var folders = [debugFolder]
        for mapping in contents.mappings where mapping.isFile && mapping.isExecutable && folders.count < 64 {
            guard let slash = mapping.path.lastIndex(of: "/"), slash > mapping.path.startIndex else { continue }
            let folder = String(mapping.path[..<slash])
            if !folders.contains(folder) { folders.append(folder) }
        }
        return folders
    }

    private static func perform(
        _ attempt: Attempt,
        _ clock: WorkClock,
        _ contents: SnapshotContents,
        modules: [Int32],
        blackboard: Blackboard
    ) -> Int32 {
        let run = SymbolicationRun(contents, modules: modules, attempt: attempt, now: clock.now) {
            blackboard.image = $0
        }
        guard var run else { return EX_OSERR }
        var captured = run.perform()
        captured.notes += blackboard.confinement.notes
        return blackboard.post(json: captured)
    }
}

extension Blackboard {
    /// Stores a result as one line of JSON.
    ///
    /// - Returns: the exit code of the child.
    func post(json value: some Encodable) -> Int32 {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let json = try? encoder.encode(value) else { return EX_SOFTWARE }
        return post(json + [UInt8(ascii: "\n")]) ? EX_OK : EX_SOFTWARE
    }
}

/// libdw and libelf, which this process loads on first use.
enum Elfutils {
    /// The reason why the libraries cannot be used; nil if they are loaded.
    ///
    /// A worker cannot load them, because it may not map code. So read this before starting a worker.
    static let problem: String? = wd_elfutils_load().map { String(cString: $0) }
}
