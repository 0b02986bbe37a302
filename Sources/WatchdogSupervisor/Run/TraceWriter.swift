// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Synchronization
import WatchdogBase
import WatchdogLinux

/// Writes lines into a file beside the loop, because a disk may not answer.
///
/// What a full disk does not take waits, up to a limit, until there is room. If there is none to the end, the file ends with
/// a whole line.
///
/// Isolation: any thread; only ``finish(within:)`` waits.
final class TraceWriter: Sendable {
    private struct State {
        /// Bytes that were accepted and are not in the file.
        var waiting = 0
        var failure: LinuxError?
    }

    /// The queue's own.
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
    /// - Parameter limit: how many bytes may wait.
    init(_ file: OwnedDescriptor, _ path: String, limit: Int) {
        (self.file, self.path, self.limit) = (file, path, limit)
    }

    /// Why the latest write failed; nil if it succeeded.
    var failure: LinuxError? { state.withLock { $0.failure } }

    /// Appends whole lines, soon.
    ///
    /// - Returns: false if there is no room, and nothing of them will be written.
    func write(_ lines: [UInt8]) -> Bool {
        let isRoom = state.withLock { state in
            guard state.waiting + lines.count <= limit else { return false }
            state.waiting += lines.count
            return true
        }
        if isRoom { queue.async { [self] in progress.withLock { append(lines, &$0) } } }
        return isRoom
    }

    /// Tries to write all that waits; without success, the file is cut to its last whole line.
    ///
    /// - Returns: false if the disk does not answer in time.
    func finish(within patience: Duration) -> Bool {
        let group = DispatchGroup()
        queue.async(group: group) { [self] in
            progress.withLock { progress in
                append([], &progress)
                if !progress.rest.isEmpty, progress.openLine > 0 {
                    // A pipe keeps what it has, and its reader sees an end in the middle of a line.
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
