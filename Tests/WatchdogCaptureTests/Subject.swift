// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import TestSupport
import WatchdogLinux

/// A process started by a test, with pipes to its standard input and output.
final class Subject {
    /// A thread's line from ``subjectSource`` about its stack.
    struct Marker: Equatable {
        var thread: Int32
        var address: UInt64
        var value: UInt64
    }

    /// A failure outside of the code under test.
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    let process: Int32
    private let input: Int32
    private let output: Int32
    private var buffered: [UInt8] = []
    private var isReaped = false
    private(set) var markers: [Marker] = []

    init(_ path: String, _ arguments: [String], environment: [String] = [], inNewGroup: Bool = false) throws {
        var toChild: [Int32] = [-1, -1]
        var fromChild: [Int32] = [-1, -1]
        // Closed on exec from the start, because a process that another test starts meanwhile would keep the pipes
        // open.
        guard wd_pipe(&toChild, 0) == 0, wd_pipe(&fromChild, 0) == 0 else {
            throw Failure(description: "pipe: \(errno)")
        }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, toChild[0], 0)
        posix_spawn_file_actions_adddup2(&actions, fromChild[1], 1)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Tests run on threads of Dispatch, which block signals; a child would inherit that.
        var noSignals = sigset_t()
        sigemptyset(&noSignals)
        posix_spawnattr_setsigmask(&attributes, &noSignals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | (inNewGroup ? POSIX_SPAWN_SETPGROUP : 0)))
        var pid: pid_t = 0
        let error = withCStrings([path] + arguments) { argv in
            withCStrings(environment) { envp in posix_spawn(&pid, path, &actions, &attributes, argv, envp) }
        }
        close(toChild[0])
        close(fromChild[1])
        input = toChild[1]
        output = fromChild[0]
        process = pid
        guard error == 0 else {
            isReaped = true
            throw Failure(description: "posix_spawn \(path): \(error)")
        }
    }

    /// Starts ``subjectSource`` and waits until it is ready.
    convenience init(_ mode: String, _ arguments: String...) throws {
        try self.init(try Compiler.shared.executable(subjectSource), [mode] + arguments)
        try waitUntilReady()
    }

    /// Leaves reaping to the caller.
    func leaveReaping() {
        isReaped = true
    }

    deinit {
        if !isReaped {
            kill(process, SIGKILL)
            waitpid(process, nil, 0)
        }
        close(input)
        close(output)
    }

    func waitUntilReady() throws {
        while true {
            let words = try line().split(separator: " ")
            if words == ["ready"] { return }
            guard words.count == 4, let thread = Int32(words[1]), let address = UInt64(words[2]),
                let value = UInt64(words[3])
            else { throw Failure(description: "unexpected line \(words)") }
            markers.append(Marker(thread: thread, address: address, value: value))
        }
    }

    /// The next line of its output.
    func line() throws -> String {
        while true {
            if let newline = buffered.firstIndex(of: UInt8(ascii: "\n")) {
                defer { buffered.removeSubrange(...newline) }
                return String(decoding: buffered[..<newline], as: UTF8.self)
            }
            buffered += try read()
        }
    }

    /// Sends a byte and returns the response.
    func echo(_ byte: UInt8) throws -> [UInt8] {
        try send(byte)
        return try read()
    }

    func send(_ byte: UInt8) throws {
        var byte = byte
        guard write(input, &byte, 1) == 1 else { throw Failure(description: "write: \(errno)") }
    }

    private func read() throws -> [UInt8] {
        var entry = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, patienceInMilliseconds) == 1 else {
            throw Failure(description: "no output within \(patience)")
        }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let length = Glibc.read(output, &bytes, bytes.count)
        guard length > 0 else { throw Failure(description: "the subject closed its output") }
        return Array(bytes.prefix(length))
    }

    /// The letter of `/proc/PID/task/TID/stat` field 3.
    func state(of thread: Int32? = nil) -> Character? {
        guard let text = textOfFile("/proc/\(process)/task/\(thread ?? process)/stat"),
            let parenthesis = text.lastIndex(of: ")")
        else { return nil }
        return text[text.index(after: parenthesis)...].dropFirst().first
    }

    /// Waits until the thread is in one of `states`.
    func waitForState(_ states: String, of thread: Int32? = nil) throws {
        try eventually("state \(states)") { state(of: thread).map { states.contains($0) } ?? false }
    }

    /// Waits until all its threads sleep at once, so that none of them is about to move.
    ///
    /// A sleeping thread may only be waiting for another one that has not reached its final wait, such as at a barrier.
    func waitUntilAsleep() throws {
        var before: [Int32: [String]] = [:]
        try eventually("the sleep of all threads") {
            // The threads are read one after the other: none has run meanwhile if none has gone to sleep again.
            let now = Dictionary(uniqueKeysWithValues: Procfs.threads(of: process).map { ($0, restingPlace(of: $0)) })
            defer { before = now }
            return !now.isEmpty && now == before && now.values.allSatisfy { !$0.isEmpty }
        }
    }

    /// A thread's sleeping place, and how often it has yielded or lost its CPU; empty for one that does not sleep.
    private func restingPlace(of thread: Int32) -> [String] {
        // The kernel waits until a thread that is about to sleep has left its CPU: wait_task_inactive().
        guard let call = textOfFile("/proc/\(process)/task/\(thread)/syscall"), call != "running\n" else { return [] }
        let lines = textOfFile("/proc/\(process)/task/\(thread)/status")?.split(separator: "\n") ?? []
        guard lines.contains(where: { $0.hasPrefix("State:\tS") }) else { return [] }
        return [call] + lines.filter { $0.contains("ctxt_switches") }.map(String.init)
    }

    /// Waits until its main thread waits for the child of its vfork(2).
    func waitForVfork() throws {
        // A wait for a page from a disk has the same state.
        try eventually("vfork(2)") {
            textOfFile("/proc/\(process)/task/\(process)/children")?.isEmpty == false && state() == "D"
        }
    }

    /// Reaps it without blocking forever; returns its wait status.
    func reap() throws -> Int32 {
        var status: Int32 = 0
        // A stop for a capture is reported too, with 0x7f in the low byte: wait(2).
        try eventually("the end of \(process)") {
            waitpid(process, &status, WNOHANG) == process && status & 0xFF != 0x7F
        }
        isReaped = true
        return status
    }
}

/// Polls until `condition` holds; throws if it never does.
func eventually(_ what: String, _ condition: () -> Bool) throws {
    guard TestSupport.eventually(condition) else {
        throw Subject.Failure(description: "waited in vain for \(what)")
    }
}

/// The text of a small file, or nil.
func textOfFile(_ path: String) -> String? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let length = read(file, &bytes, bytes.count)
    return length < 0 ? nil : String(decoding: bytes.prefix(length), as: UTF8.self)
}

/// A NULL-terminated array of C strings.
func withCStrings<Result>(
    _ strings: [String],
    _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
    var pointers = strings.map { strdup($0) } + [nil]
    defer {
        for pointer in pointers {
            free(pointer)
        }
    }
    return pointers.withUnsafeMutableBufferPointer { buffer in
        guard let start = buffer.baseAddress else { preconditionFailure("an array with a terminator is not empty") }
        return body(start)
    }
}
