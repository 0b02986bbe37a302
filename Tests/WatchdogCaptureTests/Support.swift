// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import TestSupport
import WatchdogLinux
import WatchdogVerdict

@testable import WatchdogCapture

/// A thread that computes a value.
final class ThreadWithResult<Value: Sendable>: Sendable {
    private let value = Mutex<Result<Value, any Error>?>(nil)

    init(_ body: @escaping @Sendable () throws -> Value) {
        do {
            try CaptureWorker.start { [self] in
                let result = Result { try body() }
                value.withLock { $0 = result }
            }
            .detach()
        } catch {
            value.withLock { $0 = .failure(error) }
        }
    }

    /// Waits for the value.
    func result() throws -> Value {
        try eventually("a thread's result") { value.withLock { $0 != nil } }
        return try value.withLock { $0 ?? .failure(Subject.Failure(description: "no result")) }.get()
    }
}

/// Runs `body` on a thread that has none of root's capabilities, except perhaps CAP_SYS_PTRACE.
///
/// Without that, root may not trace root's processes, which have more capabilities than the tracer.
func withoutCapabilities<Value: Sendable>(
    keepingPtrace: Bool = false,
    _ body: @escaping @Sendable () throws -> Value
) throws -> Value {
    try ThreadWithResult {
        try dropCapabilities(keeping: keepingPtrace && geteuid() == 0 ? 1 << 19 : 0)
        return try body()
    }
    .result()
}

/// Affects the calling thread only: capabilities(7).
private func dropCapabilities(keeping kept: UInt32) throws {
    typealias SetCapabilities = @convention(c) (UnsafeMutableRawPointer, UnsafeRawPointer) -> Int32
    guard let symbol = dlsym(nil, "capset") else { throw Subject.Failure(description: "no capset") }
    var header: [UInt32] = [0x2008_0522, 0]  // _LINUX_CAPABILITY_VERSION_3, the calling thread
    let sets: [UInt32] = [kept, kept, 0, 0, 0, 0]  // effective, permitted, inheritable; then the upper halves
    guard unsafeBitCast(symbol, to: SetCapabilities.self)(&header, sets) == 0 else {
        throw Subject.Failure(description: "capset: \(errno)")
    }
}

/// Whether perf_event_open(2) is permitted: containers and kernels may forbid it even to root.
let isPerfPermitted: Bool = {
    typealias Call = @convention(c) (Int, UnsafeRawPointer, Int, Int, Int, Int) -> Int
    guard let symbol = dlsym(nil, "syscall") else { return false }
    // The first 64 bytes of perf_event_attr: PERF_TYPE_SOFTWARE and the size, PERF_COUNT_SW_TASK_CLOCK, then
    // exclude_kernel and exclude_hv.
    let attributes: [UInt64] = [64 << 32 | 1, 1, 0, 0, 0, 3 << 5, 0, 0]
    let event = unsafeBitCast(symbol, to: Call.self)(298, attributes, 0, -1, -1, 8 /* PERF_FLAG_FD_CLOEXEC */)
    if event >= 0 { close(Int32(event)) }
    return event >= 0
}()

/// All bytes of an open file.
func bytes(of descriptor: Int32) throws -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
        let length = pread(descriptor, &buffer, buffer.count, off_t(bytes.count))
        guard length >= 0 else { throw Subject.Failure(description: "pread: \(errno)") }
        if length == 0 { return bytes }
        bytes += buffer.prefix(length)
    }
}

/// All bytes of a file.
func bytes(of path: String) throws -> [UInt8] {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw Subject.Failure(description: "open \(path): \(errno)") }
    defer { close(file) }
    return try bytes(of: file)
}

/// Copies a program.
///
/// A process that another test starts has a copy of this process's descriptors until its execve(2), and a file that is
/// open for writing cannot be executed: ETXTBSY. Another process therefore writes the file.
func copyFile(_ path: String, to copy: String) throws {
    let status = try Subject("/bin/cp", [path, copy]).reap()
    guard status == 0 else { throw Subject.Failure(description: "cp \(path) \(copy): status \(status)") }
}

func writeFile(_ bytes: [UInt8], to path: String) throws {
    let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o755)
    guard file >= 0, write(file, bytes, bytes.count) == bytes.count, close(file) == 0 else {
        throw Subject.Failure(description: "cannot write \(path): \(errno)")
    }
}

/// Detects whether somebody opens a file, other than with O_PATH: inotify(7).
final class OpenWatch {
    private let queue: OwnedDescriptor

    init(_ path: String) throws {
        let number = inotify_init1(O_NONBLOCK | O_CLOEXEC)
        guard number >= 0 else { throw Subject.Failure(description: "inotify_init1: \(errno)") }
        queue = OwnedDescriptor(taking: number)
        guard inotify_add_watch(number, path, UInt32(IN_OPEN)) >= 0 else {
            throw Subject.Failure(description: "inotify_add_watch: \(errno)")
        }
    }

    /// Since the beginning, or since the last query.
    var sawOpen: Bool {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        return read(queue.number, &buffer, buffer.count) > 0
    }
}

extension SnapshotOptions {
    /// Waits for threads far longer than a supervisor would, because the machine may be busy with other tests.
    static let patient = SnapshotOptions(method: .ptrace, stopTimeout: patience)

    static func patient(
        startTime: UInt64? = nil,
        method: CapturedProcess.Method = .ptrace,
        ending: Ending = .release
    ) -> SnapshotOptions {
        SnapshotOptions(startTime: startTime, method: method, ending: ending, stopTimeout: patience)
    }
}
