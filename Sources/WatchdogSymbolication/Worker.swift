// SPDX-License-Identifier: Apache-2.0

import CWorker
import Glibc
import WatchdogPolicy

/// Runs one attempt in a child process, which may crash or hang.
struct Worker {
    /// Where the child says what it is doing; shared memory.
    private final class Progress {
        private let image: UnsafeMutablePointer<Int32>
        private static let size = 4096

        init?() {
            let flags = MAP_SHARED | MAP_ANONYMOUS
            guard let page = mmap(nil, Progress.size, PROT_READ | PROT_WRITE, flags, -1, 0), page != MAP_FAILED else {
                return nil
            }
            image = page.bindMemory(to: Int32.self, capacity: 1)
            image.pointee = -1
        }

        deinit { munmap(image, Progress.size) }

        var current: Int? {
            get { image.pointee < 0 ? nil : Int(image.pointee) }
            set { image.pointee = Int32(clamping: newValue ?? -1) }
        }
    }

    /// Large programs have gigabytes of debug information, which is mapped; hostile ones claim to have terabytes.
    private static let addressSpace: UInt64 = 16 << 30

    /// Runs `body` in a child until `deadline`.
    ///
    /// - Parameter body: Gets a function to call with the index of an image before parsing it. Returns the exit code.
    /// - Returns: nil when the child exited with 0.
    static func run(
        until deadline: Instant,
        _ body: (_ willParse: @escaping (Int) -> Void) -> Int32
    ) -> Attempt.Failure? {
        guard let progress = Progress(), let (readEnd, writeEnd) = makePipe() else { return runHere(body) }
        defer { close(readEnd) }
        let child = wd_worker_fork(addressSpace)
        guard child >= 0 else {
            close(writeEnd)
            return runHere(body)
        }
        if child == 0 {
            close(readEnd)
            _exit(body { progress.current = $0 })
        }
        close(writeEnd)
        let isLate = !waitForEnd(of: readEnd, until: deadline)
        if isLate { kill(child, SIGKILL) }
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        // wait(2): the low seven bits are the signal, the next byte is the exit code.
        let signal = status & 0x7f
        if signal == 0 { return status >> 8 == 0 ? nil : .exit(status >> 8 & 0xff) }
        return isLate ? .timeout(image: progress.current) : .signal(signal, image: progress.current)
    }

    /// Without a child there is no second attempt.
    private static func runHere(_ body: (_ willParse: @escaping (Int) -> Void) -> Int32) -> Attempt.Failure? {
        let code = body { _ in }
        return code == 0 ? nil : .exit(code)
    }

    /// The child holds the other end of the pipe, and its death is the end of the file.
    private static func waitForEnd(of descriptor: Int32, until deadline: Instant) -> Bool {
        while true {
            let left = deadline - Instant.monotonic()
            guard left > .zero else { return false }
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let result = poll(&entry, 1, Int32(clamping: left.nanoseconds / 1_000_000 + 1))
            if result > 0 { return true }
        }
    }

    private static func makePipe() -> (Int32, Int32)? {
        var ends: [Int32] = [-1, -1]
        return pipe(&ends) == 0 ? (ends[0], ends[1]) : nil
    }
}
