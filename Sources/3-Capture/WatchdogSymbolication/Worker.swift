// SPDX-License-Identifier: Apache-2.0

import CSymbolication
import Glibc
import WatchdogBase
import WatchdogLinux

/// Runs one attempt in a child process, which may crash or hang.
enum Worker {
    /// Large programs have gigabytes of debug information, which is mapped; hostile files claim to have terabytes.
    private static let addressSpace: UInt64 = 16 << 30
    /// The private memory of a worker, in bytes; a debug file that libdw maps for writing counts in full.
    private static let memory: UInt64 = 2 << 30
    /// The exit status of a child whose system calls the kernel cannot restrict; not one of <sysexits.h>.
    private static let unconfined: Int32 = 99
    /// The reason for no worker on a kernel that cannot confine one.
    static let withoutConfinement = "seccomp(2) is not available"

    /// The calls that create a worker; both return a negative number and set `errno` on failure.
    struct Calls {
        var pipe: (inout [Int32]) -> Int32 = { Glibc.pipe(&$0) }
        var fork: () -> pid_t = { wd_worker_fork(addressSpace, memory) }
    }

    /// Runs `body` in a child until `clock` reaches `deadline`.
    ///
    /// The child has no network, starts no programs, writes no files, and opens only the files it may read.
    ///
    /// - Parameters:
    ///   - readable: Folders whose files the child may open for reading.
    ///   - body: Stores its result on the blackboard and returns the exit code.
    /// - Returns: The blackboard if the body returned 0.
    static func run(
        until deadline: Instant,
        on clock: WorkClock = WorkClock(),
        readable: [String] = [],
        calls: Calls = Calls(),
        _ body: (Blackboard) -> Int32
    ) throws(Attempt.Failure) -> Blackboard {
        guard let blackboard = Blackboard() else { throw .exit(EX_OSERR) }
        var ends: [Int32] = [-1, -1]
        guard calls.pipe(&ends) == 0 else { throw .noWorker("pipe(2) failed: \(Errno(rawValue: errno))") }
        defer { close(ends[0]) }
        let child = calls.fork()
        if child == 0 {
            close(ends[0])
            clock.follow(getpid())
            blackboard.confinement = .confine(toFilesIn: readable)
            _exit(blackboard.confinement.contains(.calls) ? body(blackboard) : unconfined)
        }
        let error = Errno(rawValue: errno)
        close(ends[1])
        guard child > 0 else { throw .noWorker("fork(2) failed: \(error)") }
        clock.follow(child)
        let isLate = !waitForEnd(of: ends[0], until: deadline, on: clock)
        if isLate { kill(child, SIGKILL) }
        clock.leave()
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        // wait(2): the low seven bits are the signal, the next byte is the exit code.
        guard status != 0 else { return blackboard }
        let signal = status & 0x7f
        if signal == 0, status >> 8 == unconfined { throw .noWorker(withoutConfinement) }
        if signal == 0 { throw .exit(status >> 8 & 0xff) }
        throw isLate ? .timeout(image: blackboard.image) : .signal(signal, image: blackboard.image)
    }

    /// Runs `body` in this process, which permanently gives up all rights that a worker lacks, and opens no file by
    /// name.
    ///
    /// Only for work without libelf and libdw.
    static func runHere(_ body: (Blackboard) -> Int32) throws(Attempt.Failure) -> Blackboard {
        guard let blackboard = Blackboard() else { throw .exit(EX_OSERR) }
        blackboard.confinement = .confine(toFilesIn: [])
        let code = body(blackboard)
        guard code == 0 else { throw .exit(code) }
        return blackboard
    }

    /// Waits for the child, which has the only write end of the pipe, so that its exit causes an end of file.
    private static func waitForEnd(of descriptor: Int32, until deadline: Instant, on clock: WorkClock) -> Bool {
        while true {
            let left = deadline - clock.now()
            guard left > .zero else { return false }
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            if poll(&entry, 1, Int32(clamping: left.nanoseconds / 1_000_000 + 1)) > 0 { return true }
        }
    }
}
