// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogVerdict

extension Verdict {
    /// Creates the verdict on a crash: its cause and its place.
    ///
    /// - Parameters:
    ///   - crash: the end of the process.
    ///   - place: the calls of the thread that received the signal; nil without a stack.
    ///   - process: the process ID.
    init(of crash: CrashDetails, at place: CrashPlace?, process: Int) {
        let location = place?.words.map { " \($0)" } ?? ""
        let function = place?.function.map { " in \($0)" } ?? ""
        guard let signal = crash.signal, let name = crash.signalName else {
            guard let code = crash.exitCode else {
                self.init(kind: .unknown, line: "Ended; exit status unknown", brief: "ended")
                return
            }
            // Shells and `env` report a child killed by a signal as 128 plus its number.
            let meant = (129...159).contains(code) ? ", as if \(SignalName.of(code - 128)) had ended it" : ""
            self.init(
                kind: .failed, line: "Exited unexpectedly with code \(code)\(meant)",
                brief: "exit code \(code)")
            return
        }
        if crash.isMemoryKill == true {
            self.init(
                kind: .killed, line: "Killed by the kernel because memory was short (SIGKILL)", brief: "out of memory")
        } else if crash.senderPID == 0 {
            // Its user is not mapped in this namespace, either: pid_namespaces(7).
            self.init(
                kind: .killed, line: "Killed by a process outside its pid namespace, which sent \(name)\(location)",
                brief: "\(name) from outside")
        } else if let sender = crash.senderPID, sender != process {
            let user = crash.senderUserID.map { " of user \($0)" } ?? ""
            self.init(
                kind: .killed, line: "Killed by pid \(sender)\(user), which sent \(name)\(location)",
                brief: "\(name) from \(sender)")
        } else if crash.isMemoryKill == nil {
            self.init(
                kind: .killed,
                line: "Killed by SIGKILL, perhaps by the kernel: memory has been short since the launch", brief: name)
        } else if signal == SignalText.kill {
            self.init(kind: .killed, line: "Killed by SIGKILL, which watchdogd did not send", brief: name)
        } else {
            let address = Self.address(crash, signal)
            let meaning = crash.codeName.flatMap(SignalText.meaning(of:)).map { " (\($0))" } ?? ""
            let ending = crash.wasEnding ? ", while it was ending" : ""
            if let place, place.isStackOverflow {
                self.init(
                    kind: .crashed, line: "Crashed: stack overflow\(location) (\(name)\(address))\(ending)",
                    brief: "stack overflow\(function)")
                return
            }
            self.init(
                kind: .crashed, line: "Crashed: \(name)\(address)\(meaning)\(location)\(ending)",
                brief: "\(name)\(function)")
        }
    }

    /// The accessed memory address.
    ///
    /// For other faults, it is the address of the instruction, which the stack already shows.
    private static func address(_ crash: CrashDetails, _ signal: Int) -> String {
        guard [SignalText.segmentation, SignalText.bus].contains(signal), let code = crash.code, code > 0 else {
            return ""
        }
        return crash.address.map { " at \($0.hexadecimal())" } ?? " at an address that no memory can have"
    }
}

extension CrashDetails {
    /// The thread that received the signal, or else the first thread.
    func thread(of process: Int) -> Int { thread ?? process }
}

extension ReportBody {
    /// The verdict under the current names; nil if this is not a crash.
    var crashVerdict: Verdict? {
        guard let crash = linux?.crash else { return nil }
        let index = threads.firstIndex { $0.id == crash.thread(of: pid) }
        let place = index.flatMap { CrashPlace(ReportStack($0, in: self), crash, process: pid, name: procName) }
        return Verdict(of: crash, at: place, process: pid).singleLine
    }
}

extension Report {
    /// Whether a stack overflow crashed the process.
    public var isStackOverflow: Bool {
        guard let crash = body.linux?.crash, let stack = stacks.first(where: { $0.id == crash.thread(of: body.pid) })
        else { return false }
        return CrashPlace(stack, crash, process: body.pid, name: body.procName)?.isStackOverflow ?? false
    }
}

extension Verdict {
    /// The verdict in the form that a report stores.
    var singleLine: Verdict {
        var verdict = self
        verdict.line = line.singleLine(limit: ReportLimits.lineLength)
        return verdict
    }
}

/// The place of a crash, by the names in the code.
struct CrashPlace {
    /// The function to blame; nil without a name.
    let function: String?
    /// The emphasized part of "Crashed: SIGSEGV *in memcpy, from parse_header (parse.c:12), on thread 4243*".
    let words: String?
    /// Whether the fault is an access just beyond the stack's end.
    let isStackOverflow: Bool

    /// - Parameters:
    ///   - stack: the stack of the thread that received the signal.
    ///   - crash: the end of the process.
    ///   - process: the process ID.
    ///   - name: the app's name, which is not shown as the name of a thread.
    init?(_ stack: ReportStack, _ crash: CrashDetails, process: Int, name: String) {
        // A fault at the program counter itself: the thread jumped to an address without code, and the caller is to
        // blame.
        let isAccess = [SignalText.segmentation, SignalText.bus].contains(crash.signal) && crash.code ?? 0 > 0
        let isJump = isAccess && crash.address == stack.calls.first?.address
        let calls = isJump && stack.calls.count > 1 ? Array(stack.calls.dropFirst()) : stack.calls
        guard let innermost = calls.first else { return nil }
        // Skip code that raises a signal on purpose, and the runtime if it detected the error, which it reports with a
        // trap.
        let isTrap = [SignalText.illegal, SignalText.trap].contains(crash.signal) && innermost.origin == .runtime
        let isRaised = isTrap || crash.code.map { $0 <= 0 } ?? (crash.signal == SignalText.abort)
        let own = calls.first { $0.origin == .application && $0.trust != .scan } ?? calls.first { $0.function != nil }
        let blamed = own ?? innermost
        function = (blamed.function ?? blamed.name).singleLine(limit: 128)
        var words = "in \(blamed.place)"
        if !isRaised, innermost != blamed, innermost.function != nil {
            words = "in \(innermost.name), from \(blamed.place)"
        } else if blamed.function == nil,
            let named = calls.prefix(while: { $0 != blamed }).last(where: { $0.function != nil })
        {
            // An offset alone is not informative, so use the named caller.
            words = "in \(named.name), from \(blamed.place)"
        }
        isStackOverflow = Self.isStackOverflow(crash, stackPointer: stack.stackPointer)
        if isStackOverflow {
            words += Self.recursion(in: calls, from: blamed).map { ", \($0)" } ?? ""
        } else if isJump, calls.count < stack.calls.count {
            words += ", which jumped there"
        }
        if let id = stack.id, id != process {
            words += ", on thread \(id)" + (stack.name.map { $0 == name ? "" : " \"\($0)\"" } ?? "")
        }
        self.words = words.singleLine(limit: 512)
    }

    /// Accesses through the stack pointer do not reach farther below it than the largest frame that the compiler does
    /// not probe, and the frame's own locals lie above it.
    private static func isStackOverflow(_ crash: CrashDetails, stackPointer: UInt64?) -> Bool {
        guard crash.signal == SignalText.segmentation, let code = crash.code, code > 0, let address = crash.address,
            let stackPointer
        else { return false }
        let distance = Int64(bitPattern: address &- stackPointer)
        return (-65_536..<4096).contains(distance)
    }

    /// The emphasized part of "in first (t.c:7), *which recurses through second*"; nil unless functions call each other again and
    /// again.
    private static func recursion(in calls: [CallSite], from blamed: CallSite) -> String? {
        let names = calls.compactMap(\.function)
        let counts = Dictionary(names.map { ($0, 1) }, uniquingKeysWith: +)
        guard let own = blamed.function, counts[own, default: 0] >= 8 else { return nil }
        var others: [String] = []
        for name in names where name != own && counts[name, default: 0] >= 8 && !others.contains(name) {
            others.append(name)
        }
        let way =
            others.isEmpty ? "which calls itself" : "which recurses through " + others.prefix(3).joined(separator: ", ")
        return way + (beginning(of: Set(others + [own]), in: calls).map { ", begun by \($0)" } ?? "")
    }

    /// The caller that started a recursion; nil if unknown, or not a function of the app.
    private static func beginning(of functions: Set<String>, in calls: [CallSite]) -> String? {
        guard let last = calls.lastIndex(where: { $0.function.map(functions.contains) ?? false }),
            calls.indices.contains(last + 1), calls[last + 1].origin == .application, calls[last + 1].function != nil
        else { return nil }
        return calls[last + 1].place
    }
}
