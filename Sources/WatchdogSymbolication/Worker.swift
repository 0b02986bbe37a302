// SPDX-License-Identifier: Apache-2.0

import CWorker
import Glibc
import WatchdogPolicy

/// Runs one attempt in a child process, which may crash or hang.
enum Worker {
    /// Large programs have gigabytes of debug information, which is mapped; hostile ones claim to have terabytes.
    private static let addressSpace: UInt64 = 16 << 30

    /// Runs `body` in a child until `deadline`, or here when there can be no child.
    ///
    /// The child has no network, starts no programs, writes no files and opens none but those it may read.
    ///
    /// - Parameters:
    ///   - readable: Folders whose files the child may open for reading.
    ///   - body: Leaves its result on the blackboard and returns the exit code.
    /// - Returns: The blackboard when the body returned 0.
    static func run(
        until deadline: Instant,
        readable: [String] = [],
        _ body: (Blackboard) -> Int32
    ) throws(Attempt.Failure) -> Blackboard {
        guard let blackboard = Blackboard() else { throw .exit(EX_OSERR) }
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return try run(blackboard, body) }
        defer { close(ends[0]) }
        let child = wd_worker_fork(addressSpace)
        if child == 0 {
            close(ends[0])
            blackboard.confinement = .confine(toFilesIn: readable)
            _exit(body(blackboard))
        }
        close(ends[1])
        guard child > 0 else { return try run(blackboard, body) }
        let isLate = !waitForEnd(of: ends[0], until: deadline)
        if isLate { kill(child, SIGKILL) }
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        // wait(2): the low seven bits are the signal, the next byte is the exit code.
        guard status != 0 else { return blackboard }
        let signal = status & 0x7f
        if signal == 0 { throw .exit(status >> 8 & 0xff) }
        throw isLate ? .timeout(image: blackboard.image) : .signal(signal, image: blackboard.image)
    }

    private static func run(
        _ blackboard: Blackboard,
        _ body: (Blackboard) -> Int32
    ) throws(Attempt.Failure) -> Blackboard {
        let code = body(blackboard)
        guard code == 0 else { throw .exit(code) }
        return blackboard
    }

    /// The child holds the other end of the pipe, and its death is the end of the file.
    private static func waitForEnd(of descriptor: Int32, until deadline: Instant) -> Bool {
        while true {
            let left = deadline - Instant.monotonic()
            guard left > .zero else { return false }
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            if poll(&entry, 1, Int32(clamping: left.nanoseconds / 1_000_000 + 1)) > 0 { return true }
        }
    }
}
