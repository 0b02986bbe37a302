// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WatchdogBase
import WatchdogLaunch
import WatchdogLinux

/// Programs that follow the output of several apps, side by side; each line is made safe for a terminal and
/// begins with the app's name.
struct LogFollowers {
    private struct Follower {
        /// What precedes each line; nil for the lines alone.
        let name: String?
        let process: Pidfd
        /// Nil at its end.
        var output: OwnedDescriptor?
        /// The start of a line that is not complete.
        var line: [UInt8] = []

        /// Readable when there is output, and after its end when the process has exited.
        var awaited: OwnedDescriptor { output ?? process.descriptor }
    }

    /// A longer line is shown in parts.
    private static let longestLine = 1 << 16

    private var followers: [Follower] = []

    /// Starts a program.
    ///
    /// It ends when nobody reads its output any more: journalctl(1) and tail(1) look whether somebody does.
    mutating func start(_ command: [String], for name: String?) throws {
        do {
            let output = try OwnedDescriptor.pipe()
            let program = try resolveExecutable(command[0], path: Environment.inherited.searchPath)
            var request = SpawnRequest(executable: program, arguments: command)
            request.descriptors[1] = .init(output.write, as: STDOUT_FILENO)
            // What the terminal sends, such as SIGINT, ends it as well.
            request.session = .inherited
            followers.append(Follower(name: name, process: try spawn(request).process, output: output.read))
        } catch let error as ExecutableLookupError {
            StandardError.say("cannot run \(error)")
            throw ExitCode(71)
        } catch {
            StandardError.say("\(error)")
            throw ExitCode(71)
        }
    }

    /// Prints lines as they come, until all programs have ended.
    ///
    /// - Returns: the exit code of the first one that failed, or 0.
    mutating func printLines() -> Int32 {
        var code: Int32 = 0
        while !followers.isEmpty {
            var watched = followers.map { pollfd(fd: $0.awaited.number, events: Int16(POLLIN), revents: 0) }
            guard poll(&watched, nfds_t(watched.count), -1) > 0 else { continue }
            for index in watched.indices.reversed() where watched[index].revents != 0 {
                if let output = followers[index].output {
                    if !Self.read(output, of: &followers[index]) { followers[index].output = nil }
                } else if let ended = Self.exitCode(of: followers[index].process) {
                    followers.remove(at: index)
                    if code == 0 { code = ended }
                }
            }
        }
        return code
    }

    /// - Returns: false at the end of the output.
    private static func read(_ output: OwnedDescriptor, of follower: inout Follower) -> Bool {
        var bytes = [UInt8](repeating: 0, count: longestLine)
        let count = Glibc.read(output.number, &bytes, bytes.count)
        if count < 0, errno == EINTR { return true }
        guard count > 0 else {
            if !follower.line.isEmpty { write(take(&follower)) }
            return false
        }
        var text: [UInt8] = []
        for byte in bytes[..<count] {
            follower.line.append(byte)
            guard byte == UInt8(ascii: "\n") || follower.line.count >= longestLine else { continue }
            text += take(&follower)
        }
        write(text)
        return true
    }

    /// The line that the follower has so far, behind the app's name.
    private static func take(_ follower: inout Follower) -> [UInt8] {
        defer { follower.line = [] }
        var line = follower.line[...]
        if line.last == UInt8(ascii: "\n") { line.removeLast() }
        let text = String(decoding: line, as: UTF8.self).replacing("\t", with: "    ").singleLine()
        return Array("\(follower.name.map { "\($0): " } ?? "")\(text)\n".utf8)
    }

    /// Nil while the process is alive.
    private static func exitCode(of process: Pidfd) -> Int32? {
        do throws(LinuxError) {
            return try process.waitExit()?.status.shellCode
        } catch {
            return ExitStatus.unknown.shellCode
        }
    }

    private static func write(_ bytes: [UInt8]) { try? writeAll(bytes, to: STDOUT_FILENO) }
}
