// SPDX-License-Identifier: Apache-2.0

import CWorker
import FoundationEssentials
import Glibc
public import WatchdogCapture
import WatchdogPolicy
import WatchdogReport

/// The whole job of `watchdogd-symbolicate`: a snapshot in, a ``CapturedProcess`` as JSON out.
public struct SymbolicationJob {
    /// How long it may take.
    public var budget: Duration

    /// Creates a job.
    public init(budget: Duration = .seconds(3)) {
        self.budget = budget
    }

    /// Symbolicates `contents`; does less of it when something fails or time runs out.
    ///
    /// The work is done in child processes, since libelf and libdw parse files that belong to strangers; when one
    /// crashes or hangs in a file, the next leaves the file out. Call it from a process with one thread.
    ///
    /// - Parameters:
    ///   - contents: The snapshot.
    ///   - modules: Descriptors by the numbers that the snapshot gives its modules.
    ///   - output: A descriptor to write one line of JSON to.
    /// - Returns: nil, or in a few words what went wrong in the last attempt.
    public func run(_ contents: SnapshotContents, modules: [Int32], output: Int32) -> String? {
        attempt(output: output, readable: SymbolicationJob.folders(of: contents)) { attempt, blackboard in
            SymbolicationJob.perform(attempt, contents, modules: modules, blackboard: blackboard)
        }
    }

    /// Does work in child processes until one of them has left a result, each time less of it.
    ///
    /// - Parameter folders: whose files the work may open for reading.
    func attempt(
        output: Int32, readable folders: [String] = [debugFolder], _ perform: (Attempt, Blackboard) -> Int32
    ) -> String? {
        wd_worker_seal()
        // libdw would ask a server on the network for what it does not find.
        unsetenv("DEBUGINFOD_URLS")
        var plan = AttemptPlan(start: .monotonic(), budget: budget)
        var attempt = plan.current
        while true {
            do throws(Attempt.Failure) {
                // Addresses alone need no file by name, and a folder may be on a disk that does not answer.
                let blackboard = try Worker.run(
                    until: attempt.deadline, readable: attempt.depth == .addresses ? [] : folders
                ) { perform(attempt, $0) }
                return Descriptor.write(blackboard.result, to: output) ? nil : "cannot write the result"
            } catch {
                guard let next = plan.next(after: error) else { return "symbolication ended with \(error)" }
                attempt = next
            }
        }
    }

    static let debugFolder = "/usr/lib/debug"

    /// Where debug data lies that is not in the files themselves, and files that were not handed over.
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
        _ contents: SnapshotContents,
        modules: [Int32],
        blackboard: Blackboard
    ) -> Int32 {
        let run = SymbolicationRun(contents, modules: modules, attempt: attempt) { blackboard.image = $0 }
        guard var run else { return EX_OSERR }
        var captured = run.perform()
        captured.notes += blackboard.confinement.notes
        return blackboard.post(json: captured)
    }
}

extension Blackboard {
    /// Leaves a result as one line of JSON.
    ///
    /// - Returns: the child's exit code.
    func post(json value: some Encodable) -> Int32 {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let json = try? encoder.encode(value) else { return EX_SOFTWARE }
        return post(json + [UInt8(ascii: "\n")]) ? EX_OK : EX_SOFTWARE
    }
}
