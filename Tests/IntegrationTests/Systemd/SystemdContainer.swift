// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux

/// A systemd booted in a container that is removed with this value, or with the tests' process.
///
/// The build is installed in it as `make install` does.
final class SystemdContainer {
    /// The result of a command in it.
    struct Answer {
        let code: Int32
        let output: String
        let errors: String

        var lines: [String] { output.split(separator: "\n").map(String.init) }
    }

    /// Why no container can be booted here; empty if one can.
    static let obstacle: String = {
        guard let check = try? Program([script, "check"]), (try? check.end()) == .exited(code: 0) else {
            return "scripts/container does not run"
        }
        return check.text(.output).split(separator: "\n").joined(separator: "; ")
    }()

    private static let script =
        "\(#filePath)".split(separator: "/").dropLast(4).reduce("") { "\($0)/\($1)" } + "/scripts/container"

    private let program: Program
    /// The cgroup that contains it completely.
    private let cgroup: String

    /// Boots it; returns when its systemd has started everything.
    init() throws {
        program = try Program(
            [Self.script, "boot", "--install", product("")], streams: .pipesAndInput)
        cgroup = String(try program.line("cgroup ").dropFirst("cgroup ".count))
        try waitUntilRunning()
    }

    deinit {
        // scripts/container shuts everything down when its input ends, even if these tests are killed.
        program.closeInput()
        _ = try? program.end()
    }

    // MARK: - Commands

    /// Runs a command in it as root.
    func run(_ command: [String], within limit: Duration = patience) throws -> Answer {
        guard let systemd else { throw Failure("the container has no systemd\n\(program.text(.errors))") }
        let program = try Program(["nsenter", "--target", "\(systemd)", "--all", "--wdns=/"] + command)
        let status = try program.end(within: limit)
        return Answer(code: status.code ?? -1, output: program.text(.output), errors: program.text(.errors))
    }

    /// Runs a piece of shell in it; a failure is an error with all output.
    @discardableResult
    func shell(_ source: String, within limit: Duration = patience) throws -> String {
        let answer = try run(["/bin/sh", "-ec", source], within: limit)
        guard answer.code == 0 else {
            throw Failure(
                "\(source)\nended with \(answer.code)\n-- output\n\(answer.output)-- errors\n\(answer.errors)")
        }
        return answer.output
    }

    /// A property of a unit, as `systemctl show` prints it.
    func property(_ name: String, of unit: String) throws -> String {
        try shell("systemctl show --property=\(name) --value \(unit)").trimmed
    }

    /// Reboots it; returns when it is running.
    func reboot() throws {
        let before = systemd
        _ = try run(["systemctl", "reboot"])
        guard eventually({ systemd != nil && systemd != before }) else {
            throw Failure("the container did not boot again\n\(program.text(.errors))")
        }
        try waitUntilRunning()
    }

    // MARK: - Files

    /// The path of one of its files on this machine.
    func path(_ inside: String) -> String { "/proc/\(systemd ?? 0)/root\(inside)" }

    func write(_ text: String, to inside: String) throws {
        let file = try OwnedDescriptor(opening: path(inside), flags: O_WRONLY | O_CREAT | O_TRUNC)
        let bytes = Array(text.utf8)
        guard Glibc.write(file.number, bytes, bytes.count) == bytes.count, fchmod(file.number, 0o644) == 0 else {
            throw LinuxError("write \(inside)", Errno(rawValue: errno))
        }
    }

    // MARK: - State

    /// The ID of its first process on this machine.
    private var systemd: Int32? {
        let members = contents(of: "\(cgroup)/payload/init.scope/cgroup.procs") ?? []
        return Int32(String(decoding: members.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
    }

    private func waitUntilRunning() throws {
        var state = ""
        let isUp = eventually {
            guard systemd != nil, let answer = try? run(["systemctl", "is-system-running"]) else { return false }
            state = answer.output.trimmed
            return state == "running" || state == "degraded"
        }
        guard isUp else { throw Failure("the container did not boot: \"\(state)\"\n\(program.text(.errors))") }
    }
}

extension String {
    /// Without surrounding whitespace.
    var trimmed: String {
        let isBlank: (Character) -> Bool = { $0.isWhitespace }
        return String(drop(while: isBlank).reversed().drop(while: isBlank).reversed())
    }
}
