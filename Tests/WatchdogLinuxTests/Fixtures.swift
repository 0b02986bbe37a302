// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import TestSupport
import WatchdogBase

@testable import WatchdogLinux

extension SpawnRequest {
    private static let usualLimit = SpawnRequest(executable: "/", arguments: []).launchLimit

    /// The request with the tests' limit, unless it has its own.
    var patient: SpawnRequest {
        guard launchLimit == Self.usualLimit else { return self }
        var request = self
        request.launchLimit = patience
        return request
    }
}

/// Starts a program as the product does, but with the tests' patience.
func spawn(_ request: SpawnRequest) throws(SpawnError) -> SpawnedProcess { try WatchdogLinux.spawn(request.patient) }

/// Waits until a descriptor is readable; false after the tests' patience.
func waitReadable(_ descriptor: OwnedDescriptor) -> Bool {
    var entry = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
    while true {
        let count = poll(&entry, 1, patienceInMilliseconds)
        guard count < 0, Errno.current == .interrupted else { return count == 1 }
    }
}

/// Waits until a process has exited, and reaps it.
func waitForExit(_ process: Pidfd) throws -> ProcessExit? {
    guard waitReadable(process.descriptor) else { return nil }
    return try process.waitExit()
}

/// Reads until end of file.
func readToEnd(_ descriptor: OwnedDescriptor) -> String {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while waitReadable(descriptor) {
        let length = read(descriptor.number, &buffer, buffer.count)
        guard length > 0 else { break }
        bytes += buffer.prefix(length)
    }
    return String(decoding: bytes, as: UTF8.self)
}

/// Runs a program with its standard output in a pipe, and returns its output and its status.
func run(_ request: SpawnRequest) throws -> (output: String, status: ExitStatus?) {
    let output = try capturingOutput { output throws(SpawnError) in
        var request = request
        request.descriptors.removeAll { $0.target == 1 }
        request.descriptors.append(.init(output.number, as: 1))
        return try spawn(request)
    }
    return (output.text, try waitForExit(output.spawned.process)?.status)
}

/// Passes the body the write end of a pipe, closes it, and reads the output of the started process.
func capturingOutput(
    _ start: (OwnedDescriptor) throws(SpawnError) -> SpawnedProcess
) throws -> (text: String, spawned: SpawnedProcess) {
    var ends = [try OwnedDescriptor.pipe()].flatMap { [$0.read, $0.write] }
    let spawned = try start(ends.removeLast())
    return (readToEnd(ends[0]), spawned)
}

/// A request to run a shell script.
func shell(_ script: String, _ arguments: String...) -> SpawnRequest {
    SpawnRequest(executable: "/bin/sh", arguments: ["sh", "-c", script, "sh"] + arguments)
}

/// Creates a directory that the caller must remove.
func makeTemporaryDirectory() throws -> String {
    var template = Array("/tmp/watchdog-test-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw LinuxError("create a directory", .current) }
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

/// Runs the body with a directory that is removed afterwards.
func withTemporaryDirectory<Result>(_ body: (String) throws -> Result) throws -> Result {
    let path = try makeTemporaryDirectory()
    defer { try? FileManager.default.removeItem(atPath: path) }
    return try body(path)
}

/// Runs the body with a directory on a disk of 16 KiB; returns nil if a container forbids mounting.
func withSmallDisk<Result>(_ body: (String) throws -> Result) throws -> Result? {
    try withTemporaryDirectory { folder in
        guard mount("tmpfs", folder, "tmpfs", 0, "size=16k") == 0 else {
            print("skipped: no tmpfs may be mounted")
            return nil
        }
        defer { umount2(folder, 2) }
        return try body(folder)
    }
}

func write(_ text: String, to path: String, mode: mode_t = 0o644) throws {
    let file = try OwnedDescriptor(opening: path, flags: O_WRONLY | O_CREAT | O_TRUNC, mode: mode)
    let bytes = Array(text.utf8)
    guard Glibc.write(file.number, bytes, bytes.count) == bytes.count else { throw LinuxError("write", .current) }
    chmod(path, mode)
}

/// Creates an executable file.
///
/// A process that another test starts has a copy of this process's descriptors until its execve(2), and a file that is
/// open for writing cannot be executed: ETXTBSY. Another process therefore writes the file.
func writeProgram(_ text: String, to path: String) throws {
    try write(text, to: "\(path).text")
    let end = try run(shell(#"cp "$1.text" "$1" && chmod 755 "$1" && rm "$1.text""#, path)).status
    guard end == .exited(code: 0) else { throw LinuxError("write \(path)", .invalidArgument) }
}

/// Ignores the signal that notifies the holder of a lease when somebody opens the file: fcntl(2).
///
/// Permanently, because the disposition applies to the whole process, and tests with leases run in parallel.
func ignoreLeaseBreaks() { signal(SIGIO, SIG_IGN) }

/// The number of this process's descriptors that refer to the same file as this one.
func descriptorCopies(of number: Int32) -> Int {
    guard let target = SymbolicLink.target("/proc/self/fd/\(number)"), let directory = opendir("/proc/self/fd") else {
        return 0
    }
    defer { closedir(directory) }
    var count = 0
    while let entry = readdir(directory) {
        let other = withUnsafeBytes(of: &entry.pointee.d_name) { Int32(decimal: $0.prefix { $0 != 0 }) }
        if let other, SymbolicLink.target("/proc/self/fd/\(other)") == target { count += 1 }
    }
    return count
}

extension Pidfd {
    /// Kills a test's child, and reaps it.
    func killAndReap() {
        try? send(SIGKILL)
        if eventually({ hasExited }) { _ = try? waitExit() }
    }
}
