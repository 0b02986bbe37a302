// SPDX-License-Identifier: Apache-2.0

internal import CTesting
internal import Dispatch
internal import Glibc
internal import Synchronization

/// A `watchdogd run` and the socket that drives it.
///
/// When the last reference is released, or this process ends, the socket closes and watchdogd kills the app.
///
/// Isolation: any thread.
final class SupervisorProcess: Sendable {
    /// The time limit in milliseconds for watchdogd's exit after it has closed the socket.
    private static let patience: Int32 = 10_000

    private let socket: Int32
    private let process: pid_t
    // SAFETY: Dispatch objects are thread-safe, but their Swift protocols are not marked Sendable.
    private nonisolated(unsafe) let source: any DispatchSourceRead
    private let queue: DispatchQueue

    /// Starts watchdogd.
    ///
    /// - Parameters:
    ///   - output: The path of the file for standard output, which is created; likewise `errors`.
    ///   - onLine: Called with each line that watchdogd sends, on a serial queue.
    ///   - onEnd: Called once on the same queue, after watchdogd's exit, when it has been reaped.
    init(
        _ executable: String, _ arguments: (_ remote: Int32) -> [String], output: String, errors: String,
        onLine: @escaping @Sendable ([UInt8]) -> Void, onEnd: @escaping @Sendable () -> Void
    ) throws(TestSetupError) {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw TestSetupError("cannot create a socket pair: \(String(cString: strerror(errno)))")
        }
        defer { close(ends[1]) }
        do throws(TestSetupError) {
            process = try Self.spawn(executable, arguments(3), socket: ends[1], output: output, errors: errors)
        } catch {
            close(ends[0])
            throw error
        }
        let socket = ends[0]
        self.socket = socket
        let process = process
        let queue = DispatchQueue(label: "org.watchdogd.testing.app")
        self.queue = queue
        let source = DispatchSource.makeReadSource(fileDescriptor: socket, queue: queue)
        self.source = source
        let lines = LineBuffer()
        source.setEventHandler { [weak self] in
            if !lines.read(socket, onLine) { self?.source.cancel() }
        }
        source.setCancelHandler {
            close(socket)
            _ = wd_testing_reap(process, Self.patience)
            onEnd()
        }
        source.activate()
    }

    deinit { source.cancel() }

    /// Sends a line; does nothing after watchdogd's end, which is reported separately.
    func send(_ line: String) {
        queue.async { [self] in
            guard !source.isCancelled else { return }
            let bytes = Array((line + "\n").utf8)
            // Requests are short and few, so they fit into the socket's buffer.
            _ = Glibc.send(socket, bytes, bytes.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
        }
    }

    /// Starts a watchdogd; its exit must be reaped with `wd_testing_reap`.
    ///
    /// - Parameter socket: Passed as descriptor 3; -1 for none.
    static func spawn(
        _ executable: String, _ arguments: [String], socket: Int32 = -1, output: String, errors: String
    ) throws(TestSetupError) -> pid_t {
        var pointers: [UnsafeMutablePointer<CChar>?] = ([executable] + arguments).map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        var pid: pid_t = 0
        let error = wd_testing_spawn(&pid, executable, &pointers, socket, output, errors)
        guard error == 0 else {
            throw TestSetupError("cannot start \(executable): \(String(cString: strerror(error)))")
        }
        return pid
    }
}

/// Splits the input into lines.
private final class LineBuffer: Sendable {
    private let received = Mutex<[UInt8]>([])

    /// Reads until the socket is empty: the end may arrive with the last bytes, and Dispatch may not report it again.
    ///
    /// - Returns: false at the end of the stream.
    func read(_ descriptor: Int32, _ onLine: ([UInt8]) -> Void) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            if count < 0, errno == EINTR { continue }
            if count < 0 { return errno == EAGAIN }
            guard count > 0 else { return false }
            for line in lines(in: buffer.prefix(count)) { onLine(line) }
        }
    }

    private func lines(in bytes: ArraySlice<UInt8>) -> [[UInt8]] {
        received.withLock { received in
            received += bytes
            var parts = received.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Array.init)
            received = parts.removeLast()
            return parts
        }
    }
}
