// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import TestSupport
import WatchdogWire

/// A sample app, started like a supervisor does, and killed with this object.
final class AppProcess {
    let channel = Channel()
    let process: pid_t
    let output: Int32
    let errors: Int32
    private var status: Int32?

    convenience init(_ name: String, _ arguments: String...) {
        self.init(name, arguments: arguments)
    }

    /// - Parameters:
    ///   - name: A sample app, or the absolute path of another program.
    ///   - arguments: Its arguments.
    ///   - variables: Its environment besides `PATH`, as `NAME=value`.
    ///   - isSupervised: False for an app without a channel.
    init(_ name: String, arguments: [String], variables: [String] = [], isSupervised: Bool = true) {
        var (output, errors): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
        // Closed on exec from the start, because a process that another test starts meanwhile would keep the pipes
        // open.
        precondition(wd_pipe(&output, 0) == 0 && wd_pipe(&errors, 0) == 0)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        // Ordered so that no step overwrites a descriptor that a later one needs; equal numbers clear FD_CLOEXEC.
        let inherited: Int32 = 100
        posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, errors[1], STDERR_FILENO)
        for end in [output[1], errors[1]] { posix_spawn_file_actions_addclose(&actions, end) }
        posix_spawn_file_actions_adddup2(&actions, channel.app, inherited)
        defer { posix_spawn_file_actions_destroy(&actions) }

        let words = ([name] + arguments).map { strdup($0) } + [nil]
        let offer = isSupervised ? ["\(Wire.Environment.channel)=\(inherited)"] : []
        let environment = (["PATH=/usr/bin:/bin"] + offer + variables).map { strdup($0) } + [nil]
        defer { for word in words + environment { free(word) } }
        var process: pid_t = 0
        let path = name.hasPrefix("/") ? name : "\(Self.directory)/\(name)"
        let error = posix_spawn(&process, path, &actions, nil, words, environment)
        precondition(error == 0, "cannot start \(name): \(String(cString: strerror(error)))")
        for end in [output[1], errors[1], channel.app] { close(end) }
        (self.process, self.output, self.errors) = (process, output[0], errors[0])
    }

    deinit {
        if status == nil {
            kill(process, SIGKILL)
            _ = waitForExit()
        }
        close(output)
        close(errors)
    }

    /// The build folder of this program and the apps.
    private static var directory: String {
        var target = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let length = target.withUnsafeMutableBytes { bytes in
            bytes.baseAddress.map { readlink("/proc/self/exe", $0, bytes.count) } ?? 0
        }
        let path = String(decoding: target[..<max(0, length)], as: UTF8.self)
        return path.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
    }

    /// The exit code, or 128 + signal; nil if it does not exit in time.
    func waitForExit() -> Int32? {
        var status = self.status ?? 0
        guard self.status != nil || eventually({ waitpid(process, &status, WNOHANG) == process }) else { return nil }
        self.status = status
        return status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f)
    }

    /// The content of a pipe until its end, or until nothing arrives for `limit`.
    func text(from pipe: Int32, within limit: Duration = patience) -> String {
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        // The end of a pipe is readable or hung up, and poll(2) reports both.
        while isReadable(pipe, within: limit) {
            let count = read(pipe, &buffer, buffer.count)
            guard count > 0 else { break }
            text += buffer[..<count]
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The next line of the app's output.
    func nextLine() -> String? {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while isReadable(output), read(output, &byte, 1) == 1 {
            guard byte != UInt8(ascii: "\n") else { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
        return nil
    }

    /// The current names of its threads.
    var threadNames: Set<String> {
        Set(entries("/proc/\(process)/task").compactMap { firstLine("/proc/\(process)/task/\($0)/comm") })
    }

    /// The processes that currently have it as their parent.
    var children: [String] {
        (firstLine("/proc/\(process)/task/\(process)/children") ?? "").split(separator: " ").map(String.init)
    }

    private func entries(_ path: String) -> [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            withUnsafeBytes(of: entry.pointee.d_name) {
                names.append(String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self))
            }
        }
        return names.filter { !$0.hasPrefix(".") }
    }

    private func firstLine(_ path: String) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(file, &buffer, buffer.count)
        return count < 0 ? nil : String(decoding: buffer[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}

/// Whether this process catches a signal.
func isHandled(_ signal: Int32) -> Bool {
    var action = sigaction()
    sigaction(signal, nil, &action)
    return action.__sigaction_handler.sa_handler != nil
}
