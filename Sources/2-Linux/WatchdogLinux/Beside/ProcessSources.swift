// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase

/// The processes that are forked from this one before it has threads and memory.
public struct ProcessSources: Sendable {
    /// See ``ExaminerSource``.
    public let examiner: ExaminerSource?
    /// See ``Closer``; nil only where no stranger can pass anything.
    public let closer: CloserSource?

    /// How long ``end()`` waits: longer than any process takes that the kernel lets end.
    static let patience = Duration.seconds(1)

    /// Collects sources.
    public init(examiner: ExaminerSource? = nil, closer: CloserSource? = nil) {
        self.examiner = examiner
        self.closer = closer
    }

    /// Forks both; call it on the main thread before any other thread exists.
    ///
    /// - Parameter closer: what the program left that this process executed before.
    public static func start(after closer: CloserSource? = nil) throws(LinuxError) -> ProcessSources {
        // One after another: neither may inherit the other's end.
        guard let examiner = ExaminerSource.start() else {
            throw LinuxError("create the process that reads memory", .current)
        }
        if let closer { return ProcessSources(examiner: examiner, closer: closer) }
        return ProcessSources(examiner: examiner, closer: try CloserSource.start())
    }

    /// The process IDs of the sources.
    public var processes: Set<Int32> { Set([examiner?.process.pid, closer?.process?.pid].compactMap(\.self)) }

    /// Ends both with all processes that were forked from them, so that none is left for whoever reaps orphans.
    ///
    /// Waits for at most a second. What the kernel does not let end by then, such as a process that closes a file whose
    /// server never answers, is left. Call ``Closer/end()`` before, and this when nobody uses the sources anymore.
    public func end() { end(by: .now() + Self.patience) }

    func end(by limit: Instant) {
        // Whoever still has a reference to a link has the end of it: so both end at the same time.
        for link in [examiner?.descriptor, closer?.link].compactMap(\.self) { shutdown(link.number, Int32(SHUT_RDWR)) }
        for process in [examiner?.process, closer?.process].compactMap(\.self) { process.end(by: limit) }
    }
}
