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
    /// - Parameter body: Keeps the progress up to date and returns the exit code.
    /// - Returns: nil when the body returned 0.
    static func run(until deadline: Instant, _ body: (Progress) -> Int32) -> Attempt.Failure? {
        guard let progress = Progress() else { return .exit(EX_OSERR) }
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return run(progress, body) }
        defer { close(ends[0]) }
        let child = wd_worker_fork(addressSpace)
        if child == 0 {
            close(ends[0])
            _exit(body(progress))
        }
        close(ends[1])
        guard child > 0 else { return run(progress, body) }
        let isLate = !waitForEnd(of: ends[0], until: deadline)
        if isLate { kill(child, SIGKILL) }
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        // wait(2): the low seven bits are the signal, the next byte is the exit code.
        if status == 0 { return nil }
        if progress.isWriting { return .output }
        let signal = status & 0x7f
        if signal == 0 { return .exit(status >> 8 & 0xff) }
        return isLate ? .timeout(image: progress.image) : .signal(signal, image: progress.image)
    }

    private static func run(_ progress: Progress, _ body: (Progress) -> Int32) -> Attempt.Failure? {
        let code = body(progress)
        return code == 0 ? nil : progress.isWriting ? .output : .exit(code)
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
