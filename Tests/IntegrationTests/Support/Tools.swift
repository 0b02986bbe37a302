// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux

/// The search path for programs: the system's own first, and no folder that this user may not read.
let searchPath: String = {
    let own = (Environment.inherited["PATH"] ?? "").split(separator: ":").map(String.init)
    let system = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"]
    return (system + own.filter { !system.contains($0) && access($0, X_OK) == 0 }).joined(separator: ":")
}()

let isRoot = geteuid() == 0

/// Whether this is root of the machine; here, so that not each file imports it.
let hasAllRights = TestSupport.hasAllRights

/// Whether a program is installed.
func isInstalled(_ program: String) -> Bool {
    (try? resolveExecutable(program, path: searchPath, workingDirectory: nil)) != nil
}

/// A program under test: from the release build that `WATCHDOGD_RELEASE` names, if it is there, because users run that;
/// otherwise from the build of this test bundle.
func product(_ name: String) -> String {
    let released = Environment.inherited["WATCHDOGD_RELEASE"].map { "\($0)/\(name)" }
    return released.flatMap { access($0, X_OK) == 0 ? $0 : nil } ?? "\(productFolder)/\(name)"
}

private let productFolder: String = {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = max(0, readlink("/proc/self/exe", &buffer, buffer.count))
    let path = String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return path.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" }
}()

/// A path as one word of an app's file, whatever characters it contains.
func quoted(_ path: String) -> String {
    let word = path.map { character in
        switch character {
        case "\"", "\\": "\\\(character)"
        case "%", "$": "\(character)\(character)"
        default: "\(character)"
        }
    }
    return "\"\(word.joined())\""
}

/// A path as one word of a shell's command, whatever characters it contains.
func shellWord(_ path: String) -> String { "'\(path.replacing("'", with: #"'\''"#))'" }

/// The folder of files that tests run.
let subjects = "\(#filePath)".split(separator: "/").dropLast(2).reduce("") { "\($0)/\($1)" } + "/Subjects"

/// The environment of the tests' programs: without variables that change the behavior of watchdogd, Swift or Python.
func testEnvironment() -> Environment {
    var environment = Environment.inherited
    for name in [
        "SWIFT_BACKTRACE", "NOTIFY_SOCKET", "WATCHDOG_CHANNEL", "WATCHDOG_USEC", "WATCHDOG_PID", "WATCHDOGD_CONTROL",
        "WATCHDOGD_REPORTS", "WATCHDOGD_PAGER", "WATCHDOGD_GRACE_PERIOD", "NO_COLOR", "PYTHONHOME", "PYTHONINSPECT",
        "PYTHONOPTIMIZE", "PYTHONSTARTUP", "PYTHONWARNINGS", "PYTHONDEVMODE", "PYTHONSAFEPATH",
    ] {
        environment[name] = nil
    }
    // A user without a session has none; a test that needs one sets it.
    if environment["XDG_RUNTIME_DIR"] == nil { environment["XDG_RUNTIME_DIR"] = "/tmp" }
    environment["PATH"] = searchPath
    environment["LC_ALL"] = "C.UTF-8"
    environment["PYTHONPATH"] = subjects
    environment["PYTHONUNBUFFERED"] = "1"
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    return environment
}

/// The command that runs a piece of Python; `wd` is the module of that name in `Subjects`.
func python(_ source: String, _ arguments: String...) -> [String] {
    ["/usr/bin/python3", "-c", "from wd import *\n" + source] + arguments
}

/// The command that runs a piece of shell.
func shell(_ source: String, _ arguments: String...) -> [String] {
    ["/bin/sh", "-c", source, "sh"] + arguments
}

/// The number of the system call in which a thread of a process waits, by default the main thread; nil while it runs.
///
/// See proc_pid_syscall(5).
func systemCall(of process: Int32, thread: String? = nil) -> Int? {
    let path = "/proc/\(process)/task/\(thread ?? "\(process)")/syscall"
    let line = String(decoding: contents(of: path) ?? [], as: UTF8.self)
    return line.split(whereSeparator: \.isWhitespace).first.flatMap { Int($0) }
}

/// Whether all threads of a process are in their final wait: they sleep, and the main thread is in one of these system
/// calls.
///
/// The second pass sees a thread that another one had woken after its first reading.
func isStuck(_ process: Int32, in calls: Set<Int>) -> Bool {
    (0..<2).allSatisfy { _ in
        let threads = names(in: "/proc/\(process)/task")
        return !threads.isEmpty && threads.allSatisfy { systemCall(of: process, thread: $0) != nil }
            && systemCall(of: process).map(calls.contains) ?? false
    }
}

/// `VmHWM` of `/proc/PID/status`, in KiB; 0 if the process is gone.
func peakMemory(of process: Int32) -> Int { status("VmHWM", of: process).flatMap { Int($0) } ?? 0 }

/// Whether a process, or its main thread, has been sent a signal that it has not yet handled.
func isPending(_ signal: Int32, in process: Int32) -> Bool {
    ["SigPnd", "ShdPnd"].contains { field in
        let pending = status(field, of: process).flatMap { UInt64($0, radix: 16) } ?? 0
        return pending & 1 << (signal - 1) != 0
    }
}

/// The first word of a field of `/proc/PID/status`; nil if the process is gone.
private func status(_ field: String, of process: Int32) -> Substring? {
    let text = String(decoding: contents(of: "/proc/\(process)/status") ?? [], as: UTF8.self)
    let line = text.split(separator: "\n").first { $0.hasPrefix("\(field):") }
    return line?.split(whereSeparator: \.isWhitespace).dropFirst().first
}

/// Compiles the zoo of hangs, one program from all files in `Subjects/Zoo`.
func compileZoo(to path: String) throws {
    let compiler = try Program(
        shell("exec cc -O1 -g -pthread -fno-optimize-sibling-calls -o \"$1\" \"$2\"/*.c", path, "\(subjects)/Zoo"))
    let status = try compiler.end()
    try #require(status == .exited(code: 0), "\(compiler.text(.errors))")
}
