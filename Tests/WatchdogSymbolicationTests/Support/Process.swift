// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import TestSupport
import WatchdogLinux

/// A failure outside of the code under test.
struct Failure: Error, CustomStringConvertible {
    var description: String
}

/// A process started by a test; killed with the last reference.
final class Process {
    let id: pid_t
    private let output: Int32
    private var status: Int32?

    /// Starts a program found in `PATH`.
    ///
    /// - Parameter descriptors: Inherited as descriptors 3, 4, ….
    init(_ command: [String], descriptors: [Int32] = [], standardError: Int32? = nil) throws {
        var ends: [Int32] = [-1, -1]
        // Closed on exec from the start, because a process that another test starts meanwhile would keep the pipe open.
        guard wd_pipe(&ends, 0) == 0 else { throw Failure(description: "pipe: \(errno)") }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // Moved out of the way first, because one of them may occupy another's number.
        let moved = descriptors.map { fcntl($0, F_DUPFD_CLOEXEC, 500) }
        defer { for descriptor in moved { close(descriptor) } }
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        if let standardError { posix_spawn_file_actions_adddup2(&actions, standardError, 2) }
        for (index, descriptor) in moved.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(3 + index))
        }
        // Tests run on threads of libdispatch, which block most signals.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var pid: pid_t = 0
        let error = withCStrings(command) { posix_spawnp(&pid, command[0], &actions, &attributes, $0, environ) }
        close(ends[1])
        id = pid
        output = ends[0]
        guard error == 0 else {
            status = 0
            throw Failure(description: "\(command[0]): \(String(cString: strerror(error)))")
        }
    }

    deinit {
        if status == nil {
            kill(id, SIGKILL)
            waitpid(id, nil, 0)
        }
        close(output)
    }

    /// The rest of its output, up to the end of the file.
    func readToEnd() throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let more = try read() { bytes += more }
        return bytes
    }

    /// Waits until its output has a line "ready".
    func waitUntilReady() throws {
        var text = ""
        while !text.contains("ready\n") {
            guard let more = try read() else { throw Failure(description: "it ended before it was ready") }
            text += String(decoding: more, as: UTF8.self)
        }
    }

    /// Nil at the end of the file.
    private func read() throws -> [UInt8]? {
        var entry = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, patienceInMilliseconds) > 0 else {
            throw Failure(description: "no output for \(patience)")
        }
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = Glibc.read(output, &bytes, bytes.count)
        guard count >= 0 else { throw Failure(description: "read: \(errno)") }
        return count == 0 ? nil : Array(bytes.prefix(count))
    }

    /// Waits for its exit: its exit code, or 128 and its signal.
    func wait() -> Int32 {
        if let status { return status }
        var result: Int32 = 0
        waitpid(id, &result, 0)
        let code = result & 0x7f == 0 ? result >> 8 & 0xff : 128 + result & 0x7f
        status = code
        return code
    }

    /// Waits until all its threads sleep, or all but those that are allowed to run.
    func waitUntilAsleep(threads: Int, running: Int = 0) throws {
        var before: [String: String] = [:]
        let isAsleep = eventually {
            let now = sleepingThreads()
            // The threads are read one after the other: all of them slept at once only if none has run since it was
            // read.
            let asleep = now.filter { before[$0.key] == $0.value }.count
            before = now.filter { !$0.value.isEmpty }
            return now.count >= threads && now.values.count - asleep <= running
        }
        guard isAsleep else { throw Failure(description: "its threads do not come to rest: \(sleepingThreads())") }
    }

    /// Waits until its main thread waits for the child that it starts with vfork(2), or in the same way.
    func waitUntilSuspended() throws {
        // A wait for a page from a disk has the same state.
        let isSuspended = eventually {
            contents(of: "/proc/\(id)/task/\(id)/children")?.isEmpty == false && state(of: "\(id)") == "D"
        }
        guard isSuspended else { throw Failure(description: "its main thread is not suspended") }
    }

    /// Waits until its main thread has run for this long.
    func waitUntilItHasRun(for time: Duration) throws {
        var runTime: Duration { ThreadSchedule.read(id, thread: id)?.runTime ?? .zero }
        let began = runTime
        guard eventually({ runTime - began >= time }) else {
            throw Failure(description: "its main thread does not run")
        }
    }

    /// Stops it like Ctrl-Z, and waits until all its threads are stopped.
    func stop() throws {
        kill(id, SIGSTOP)
        guard eventually({ entries(of: "/proc/\(id)/task").allSatisfy { state(of: $0) == "T" } }) else {
            throw Failure(description: "its threads do not stop")
        }
    }

    /// The letter of field 3 of proc_pid_stat(5).
    private func state(of thread: String) -> Character? {
        guard let text = contents(of: "/proc/\(id)/task/\(thread)/stat"), let end = text.lastIndex(of: ")") else {
            return nil
        }
        return text[end...].dropFirst(2).first
    }

    /// The run time of each sleeping thread so far, and "" for those that do not sleep.
    private func sleepingThreads() -> [String: String] {
        var threads: [String: String] = [:]
        for thread in entries(of: "/proc/\(id)/task") {
            guard let state = state(of: thread) else { continue }
            threads[thread] = state == "S" ? contents(of: "/proc/\(id)/task/\(thread)/schedstat") ?? "" : ""
        }
        return threads
    }
}

/// Runs a program to its exit and returns its output; throws if it cannot be started or fails.
@discardableResult
func output(of command: [String], allowing codes: Set<Int32> = [0]) throws -> String {
    let process = try Process(command)
    let bytes = try process.readToEnd()
    let code = process.wait()
    guard codes.contains(code) else {
        throw Failure(description: "\(command.joined(separator: " ")): exit code \(code)")
    }
    return String(decoding: bytes, as: UTF8.self)
}

/// A system call by its number, for those without a glibc function; nil with `errno` if it fails.
func systemCall(_ number: Int, _ arguments: [Int]) -> Int? {
    typealias Call = @convention(c) (Int, Int, Int, Int, Int, Int, Int) -> Int
    guard let symbol = dlsym(nil, "syscall") else { return nil }
    let all = arguments + Array(repeating: 0, count: 6 - arguments.count)
    errno = 0
    let result = unsafeBitCast(symbol, to: Call.self)(number, all[0], all[1], all[2], all[3], all[4], all[5])
    return result == -1 ? nil : result
}

/// Whether `PATH` contains a program of this name.
func isInstalled(_ name: String) -> Bool {
    path(of: name) != nil
}

/// The path of a name in `PATH`.
func path(of name: String) -> String? {
    let directories = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
    return directories.split(separator: ":").map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
}

/// The names in a directory.
func entries(of directory: String) -> [String] {
    guard let stream = opendir(directory) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
        let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        if !name.hasPrefix(".") { names.append(name) }
    }
    return names
}

func bytes(of path: String) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while case let count = read(descriptor, &buffer, buffer.count), count > 0 { bytes += buffer.prefix(count) }
    return bytes
}

func contents(of path: String) -> String? {
    bytes(of: path).map { String(decoding: $0, as: UTF8.self) }
}

/// A NULL-terminated array of C strings.
private func withCStrings<Result>(
    _ strings: [String],
    _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
    var pointers = strings.map { strdup($0) } + [nil]
    defer { for pointer in pointers { free(pointer) } }
    return pointers.withUnsafeMutableBufferPointer { buffer in
        guard let start = buffer.baseAddress else { preconditionFailure("an array with a terminator is not empty") }
        return body(start)
    }
}
