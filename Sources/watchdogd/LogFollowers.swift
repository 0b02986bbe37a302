// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WatchdogSupervisor

/// Programs that follow the output of several apps, side by side; each line begins with the app's name.
struct LogFollowers {
    private struct Follower {
        let name: String
        let process: pid_t
        let output: Int32
        /// The start of a line that is not complete.
        var line: [UInt8] = []
    }

    /// A longer line is shown in parts.
    private static let longestLine = 1 << 16

    private var followers: [Follower] = []

    /// Starts a program.
    ///
    /// It ends when nobody reads its output any more: journalctl(1) and tail(1) look whether somebody does.
    mutating func start(_ command: [String], for name: String) throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Self.failure(command, errno) }
        defer { close(ends[1]) }
        // No other follower may hold an end open.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        let arguments = command.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var process: pid_t = 0
        let error = posix_spawnp(&process, command[0], &actions, nil, arguments, environ)
        guard error == 0 else {
            close(ends[0])
            throw Self.failure(command, error)
        }
        followers.append(Follower(name: name, process: process, output: ends[0]))
    }

    private static func failure(_ command: [String], _ code: Int32) -> ExitCode {
        StandardError.say("cannot run \(command[0]): \(String(cString: strerror(code)))")
        return ExitCode(71)
    }

    /// Prints lines as they come, until all programs have ended.
    ///
    /// - Returns: the exit code of the first one that failed, or 0.
    mutating func printLines() -> Int32 {
        var code: Int32 = 0
        while !followers.isEmpty {
            var watched = followers.map { pollfd(fd: $0.output, events: Int16(POLLIN), revents: 0) }
            guard poll(&watched, nfds_t(watched.count), -1) > 0 else { continue }
            for index in watched.indices.reversed() where watched[index].revents != 0 {
                guard !Self.read(from: &followers[index]) else { continue }
                let ended = Self.end(of: followers.remove(at: index))
                if code == 0 { code = ended }
            }
        }
        return code
    }

    /// - Returns: false at the end of the output.
    private static func read(from follower: inout Follower) -> Bool {
        var bytes = [UInt8](repeating: 0, count: Self.longestLine)
        let count = Glibc.read(follower.output, &bytes, bytes.count)
        guard count > 0 else { return count < 0 && errno == EINTR }
        var text: [UInt8] = []
        for byte in bytes[..<count] {
            follower.line.append(byte)
            guard byte == UInt8(ascii: "\n") || follower.line.count >= Self.longestLine else { continue }
            text += take(&follower)
        }
        write(text)
        return true
    }

    /// The line that the follower has so far, behind the app's name.
    private static func take(_ follower: inout Follower) -> [UInt8] {
        defer { follower.line = [] }
        let end: [UInt8] = follower.line.last == UInt8(ascii: "\n") ? [] : [UInt8(ascii: "\n")]
        return Array("\(follower.name): ".utf8) + follower.line + end
    }

    private static func end(of follower: Follower) -> Int32 {
        var follower = follower
        if !follower.line.isEmpty { write(take(&follower)) }
        close(follower.output)
        var status: Int32 = 0
        while waitpid(follower.process, &status, 0) < 0, errno == EINTR {}
        return status & 0x7f == 0 ? status >> 8 & 0xff : 128 + status & 0x7f
    }

    private static func write(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}
