// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogCapture
import WatchdogLinux
import WatchdogReport
import WatchdogVerdict

/// How many calls of known stacks are found, beside debuggers on the same processes.
struct Stacks {
    /// A program, and the calls of its main thread that are known from its source, innermost first.
    private struct Target {
        let name: String
        let program: String
        var arguments: [String] = []
        let calls: [String]
        /// Says when it is settled; otherwise it is waited for until it sleeps.
        var isSubject = true
    }

    let bench: Bench

    func run(on page: inout Page) throws {
        page.begin("Right calls of the main thread", unit: "calls")
        let end = ["main", "__libc_start_main", "_start"]
        let chain = ["innermost", "third", "second", "outermost"]
        let interpreter = [
            "clock_nanosleep", "PyObject_Vectorcall", "_PyEval_EvalFrameDefault", "PyEval_EvalCode",
            "PyRun_StringFlags",
            "PyRun_SimpleStringFlags", "Py_RunMain", "Py_BytesMain", "__libc_start_main", "_start",
        ]
        let server = ["epoll_wait", "aeMain"] + end
        let targets = [
            Target(name: "C, no frame pointers", program: bench.subject("chain"), calls: ["pause"] + chain + end),
            Target(name: "Swift, no unwind tables", program: bench.subject("bare"), calls: chain + end),
            Target(
                name: "python3", program: "/usr/bin/python3",
                arguments: ["-c", "import time\ndef f(n):\n  if n: return f(n - 1)\n  time.sleep(1000)\nf(3)"],
                calls: interpreter, isSubject: false),
            Target(
                name: "redis-server", program: "/usr/bin/redis-server",
                arguments: ["--port", "0", "--unixsocket", bench.freshPath("redis"), "--save", ""],
                calls: server, isSubject: false),
        ]
        for target in targets {
            guard access(target.program, X_OK) == 0 else {
                page.note("\(target.name): skipped, \(target.program) is not installed")
                continue
            }
            try compare(target, on: &page)
        }
    }

    private func compare(_ target: Target, on page: inout Page) throws {
        let null = try OwnedDescriptor(opening: "/dev/null", flags: O_RDWR)
        var subject: Subject?
        var other: Pidfd?
        if target.isSubject {
            subject = try Subject(target.program, target.arguments)
        } else {
            other = try spawn(.underTest(target.program, target.arguments, output: null.number)).process
        }
        defer {
            try? other?.send(SIGKILL)
            _ = try? other?.waitExit()
            withExtendedLifetime(subject) {}
        }
        let pid = subject?.process.pid ?? other?.pid ?? 0
        // Until it has slept for a while: it may take its time to start.
        var asleep = 0
        for _ in 0..<5_000 where asleep < 200 {
            asleep = ProcessStat.read(pid)?.state == .sleeping ? asleep + 1 : 0
            usleep(1_000)
        }
        let debuggers = [
            ("eu-stack", ["-p", "\(pid)"]),
            (
                "gdb",
                [
                    "-nx", "-batch", "-ex", "set backtrace past-main on", "-ex", "set backtrace past-entry on", "-ex",
                    "bt", "-p", "\(pid)",
                ]
            ),
        ]
        var best = 0
        for (tool, arguments) in debuggers {
            guard let found = try names(tool, arguments) else {
                page.note("\(target.name): \(tool) is not installed")
                continue
            }
            let right = Self.right(found, of: target.calls)
            best = max(best, right)
            page.row("\(target.name): \(tool)", right: right, of: target.calls.count)
        }
        let snapshot = try Snapshot.take(of: pid)
        let captured = try Symbolicator(program: bench.symbolicate).run(snapshot)
        let frames = captured.threads.first { $0.id == Int(pid) }?.frames ?? []
        let right = Self.right(frames.map { $0.symbol ?? "" }, of: target.calls)
        page.row("\(target.name): watchdogd", right: right, of: target.calls.count, atLeast: best)
    }

    /// The names on the first stack that a debugger prints, innermost first; nil when it is not there.
    private func names(_ tool: String, _ arguments: [String]) throws -> [String]? {
        guard let path = try? resolveExecutable(tool, path: getenv("PATH").map { String(cString: $0) } ?? "") else {
            return nil
        }
        let file = bench.freshPath(tool)
        let output = try OwnedDescriptor(opening: file, flags: O_RDWR | O_CREAT)
        let null = try OwnedDescriptor(opening: "/dev/null", flags: O_RDWR)
        var request = SpawnRequest.underTest(path, arguments, output: output.number, messages: null.number)
        request.environment["DEBUGINFOD_URLS"] = nil
        let process = try spawn(request).process
        var entry = pollfd(fd: process.descriptor.number, events: Int16(POLLIN), revents: 0)
        poll(&entry, 1, 60_000)
        _ = try process.waitExit()
        var bytes = [UInt8](repeating: 0, count: 1 << 18)
        let count = pread(output.number, &bytes, bytes.count, 0)
        let lines = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).split(separator: "\n")
        var names: [String] = []
        for line in lines where line.hasPrefix("#") {
            // A second "#0" begins the next thread.
            if !names.isEmpty, line.hasPrefix("#0 ") { break }
            // "#3  0x000055… name", "#3  0x000055… in name (…) at …", "#3  name (…) at …".
            let words = line.split(separator: " ").dropFirst().filter { !$0.hasPrefix("0x") && $0 != "in" }
            names.append(words.first.map(String.init) ?? "")
        }
        return names
    }

    /// How many of the calls were found, in their order.
    private static func right(_ names: [String], of calls: [String]) -> Int {
        var rest = names[...]
        return calls.count { call in
            guard let index = rest.firstIndex(where: { isName($0, of: call) }) else { return false }
            rest = rest[(index + 1)...]
            return true
        }
    }

    /// `main`, `main@@VERSION`, `__main`, `main(_:)`, or mangled as Swift does: `$s4bare4mainyyF`.
    private static func isName(_ name: String, of call: String) -> Bool {
        if name.hasPrefix("$s") { return name.contains("\(call.utf8.count)\(call)") }
        // Copies of functions have suffixes, and functions of libc have several names.
        let bare = name.prefix { !"@(.".contains($0) }.drop { $0 == "_" }
        let wanted = call.drop { $0 == "_" }
        return bare == wanted || ["GI_", "GI___", "libc_"].contains { bare == $0 + wanted }
    }
}
