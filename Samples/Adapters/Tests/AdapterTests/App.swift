// SPDX-License-Identifier: Apache-2.0

import Glibc

/// How long a test waits for what must come; only a failure takes that long.
let patience: Int32 = 20_000

/// A program of this package, started as watchdogd does, and gone with this object.
final class App {
    let process: pid_t
    private let channel: Int32
    private let output: Int32
    private var status: Int32?

    init(_ name: String) {
        var (ends, output): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
        precondition(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        precondition(pipe(&output) == 0)
        _ = fcntl(output[0], F_SETFD, FD_CLOEXEC)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], 100)
        posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO)
        let words = [strdup(name), nil]
        let environment = [strdup("WATCHDOG_CHANNEL=100"), strdup("PATH=/usr/bin:/bin"), nil]
        defer { for word in words + environment { free(word) } }
        var process: pid_t = 0
        let error = posix_spawn(&process, "\(Self.directory)/\(name)", &actions, nil, words, environment)
        precondition(error == 0, "cannot start \(name): \(String(cString: strerror(error)))")
        for end in [ends[1], output[1]] { close(end) }
        (self.process, channel, self.output) = (process, ends[0], output[0])
    }

    deinit {
        if status == nil {
            kill(process, SIGKILL)
            _ = waitForExit()
        }
        close(channel)
        close(output)
    }

    /// Where the build puts this program and the others.
    private static var directory: String {
        var target = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let length = target.withUnsafeMutableBytes { bytes in
            bytes.baseAddress.map { readlink("/proc/self/exe", $0, bytes.count) } ?? 0
        }
        let path = String(decoding: target[..<max(0, length)], as: UTF8.self)
        return path.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
    }

    /// An app that is gone hears nothing and does not answer.
    func send(_ message: String) {
        Glibc.send(channel, message, message.utf8.count, Int32(MSG_NOSIGNAL))
    }

    /// The next datagram; nil when none comes in time.
    func receive(within milliseconds: Int32 = patience) -> String? {
        var wait = pollfd(fd: channel, events: Int16(POLLIN), revents: 0)
        guard poll(&wait, 1, milliseconds) == 1 else { return nil }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = recv(channel, &buffer, buffer.count, 0)
        return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
    }

    /// Reads on until a datagram has a line; false when the app ends or falls silent first.
    func receive(line: String, within milliseconds: Int32 = patience) -> Bool {
        while let message = receive(within: milliseconds) {
            if message.split(separator: "\n").contains(Substring(line)) { return true }
        }
        return false
    }

    /// The next line of the app's output.
    func nextLine() -> String? {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        var wait = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
        while poll(&wait, 1, patience) == 1, read(output, &byte, 1) == 1 {
            guard byte != UInt8(ascii: "\n") else { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
        return nil
    }

    /// The exit code, or 128 + signal; nil when it does not end in time.
    func waitForExit() -> Int32? {
        var status: Int32 = 0
        var rounds = patience / 5
        while waitpid(process, &status, WNOHANG) != process {
            rounds -= 1
            guard rounds > 0 else { return nil }
            poll(nil, 0, 5)
        }
        self.status = status
        return status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f)
    }
}
