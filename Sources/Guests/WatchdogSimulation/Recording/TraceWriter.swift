// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Synchronization
import WatchdogBase
import WatchdogLinux

/// Writes lines to a file off the loop, because a disk can block.
///
/// Bytes that do not fit on a full disk are buffered, up to a limit, and retried. If the disk stays full, the file
/// still ends with a complete line.
///
/// Isolation: any thread; only ``finish(within:)`` waits.
final class TraceWriter: Sendable {
    private struct State {
        /// Accepted bytes that are not in the file yet.
        var waiting = 0
        var failure: LinuxError?
    }

    /// Accessed on the queue only.
    private struct Progress {
        var rest: [UInt8] = []
        /// The bytes in the file after the last newline.
        var openLine = 0
    }

    private let file: OwnedDescriptor
    private let path: String
    private let limit: Int
    private let queue = DispatchQueue(label: "org.watchdogd.trace", qos: .utility)
    private let state = Mutex(State())
    private let progress = Mutex(Progress())

    /// Creates a writer.
    ///
    /// - Parameter limit: the maximum number of buffered bytes.
    init(_ file: OwnedDescriptor, _ path: String, limit: Int) {
        (self.file, self.path, self.limit) = (file, path, limit)
    }

    /// The error of the latest write; nil if it succeeded.
    var failure: LinuxError? { state.withLock { $0.failure } }

    /// Appends complete lines asynchronously.
    ///
    /// - Returns: false if the buffer is full; then none of these lines is written.
    func write(_ lines: [UInt8]) -> Bool {
        let isRoom = state.withLock { state in
            guard state.waiting + lines.count <= limit else { return false }
            state.waiting += lines.count
            return true
        }
        if isRoom { queue.async { [self] in progress.withLock { append(lines, &$0) } } }
        return isRoom
    }

    /// Tries to write the buffered bytes; if that fails, truncates the file after its last complete line.
    ///
    /// - Returns: false if the disk still blocks at the end of the time limit.
    func finish(within patience: Duration) -> Bool {
        let group = DispatchGroup()
        queue.async(group: group) { [self] in
            progress.withLock { progress in
                append([], &progress)
                if !progress.rest.isEmpty, progress.openLine > 0 {
                    // A pipe cannot be truncated; its reader sees an incomplete last line.
                    let end = lseek(file.number, 0, SEEK_CUR)
                    if end >= 0 { ftruncate(file.number, end - off_t(progress.openLine)) }
                }
            }
            fsync(file.number)
        }
        return group.wait(timeout: .now() + .nanoseconds(Int(patience.nanoseconds))) == .success
    }

    private func append(_ lines: [UInt8], _ progress: inout Progress) {
        progress.rest += lines
        var failure: LinuxError?
        var count = 0
        while count < progress.rest.count, failure == nil {
            let result = progress.rest[count...].withUnsafeBytes { Glibc.write(file.number, $0.baseAddress, $0.count) }
            if result > 0 {
                count += result
            } else if result == 0 || errno != EINTR {
                failure = LinuxError("write \(path)", Errno(rawValue: result < 0 ? errno : EIO))
            }
        }
        let written = progress.rest[..<count]
        if let newline = written.lastIndex(of: UInt8(ascii: "\n")) {
            progress.openLine = count - newline - 1
        } else {
            progress.openLine += count
        }
        progress.rest.removeFirst(count)
        state.withLock { state in
            state.waiting -= count
            state.failure = failure
        }
    }
}
