// SPDX-License-Identifier: Apache-2.0

import WatchdogPolicy

extension Verdict {
    /// The verdict on a crash: what ended the process, and where it was.
    ///
    /// - Parameters:
    ///   - crash: how it ended.
    ///   - place: the calls of the thread that the signal ended; nil without a stack.
    ///   - process: the process's id.
    init(of crash: CrashDetails, at place: CrashPlace?, process: Int) {
        let location = place?.words.map { " \($0)" } ?? ""
        let function = place?.function.map { " in \($0)" } ?? ""
        guard let signal = crash.signal, let name = crash.signalName else {
            guard let code = crash.exitCode else {
                self.init(kind: .unknown, line: "Ended; how is not known", brief: "ended")
                return
            }
            // As shells and `env` say it of what they have started.
            let meant = (129...159).contains(code) ? ", as if \(SignalName.of(code - 128)) had ended it" : ""
            self.init(
                kind: .failed, line: "Exited with code \(code)\(meant), which nobody had asked for",
                brief: "exit code \(code)")
            return
        }
        if crash.isMemoryKill == true {
            self.init(
                kind: .killed, line: "Killed by the kernel because memory was short (SIGKILL)", brief: "out of memory")
        } else if crash.senderPID == 0 {
            // Nor has its user a number here: pid_namespaces(7).
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
            self.init(
                kind: .crashed, line: "Crashed: \(name)\(address)\(meaning)\(location)\(ending)",
                brief: "\(name)\(function)")
        }
    }

    /// Of memory that was accessed; of other faults it is that of the instruction, which the stack names.
    private static func address(_ crash: CrashDetails, _ signal: Int) -> String {
        guard [SignalText.segmentation, SignalText.bus].contains(signal), let code = crash.code, code > 0 else {
            return ""
        }
        return crash.address.map { " at \($0.hexadecimal())" } ?? " at an address that no memory can have"
    }
}

extension CrashDetails {
    /// The thread to which the signal was delivered, or the first.
    func thread(of process: Int) -> Int { thread ?? process }
}

extension ReportBody {
    /// The verdict that the names of now give; nil for what is no crash.
    var crashVerdict: Verdict? {
        guard let crash = linux?.crash else { return nil }
        let index = threads.firstIndex { $0.id == crash.thread(of: pid) }
        let place = index.flatMap { CrashPlace(ReportStack($0, in: self), crash, process: pid, name: procName) }
        return Verdict(of: crash, at: place, process: pid).singleLine
    }
}

extension Verdict {
    /// As it stands in a report.
    var singleLine: Verdict {
        var verdict = self
        verdict.line = line.singleLine(limit: ReportLimits.lineLength)
        return verdict
    }
}

/// Where a process crashed, in the names of its code.
struct CrashPlace {
    /// The function to blame; nil without a name.
    let function: String?
    /// As in "Crashed: SIGSEGV *in memcpy, from parse_header (parse.c:12), on thread 4243*".
    let words: String?

    /// - Parameters:
    ///   - stack: that of the thread that the signal ended.
    ///   - crash: how it ended.
    ///   - process: the process's id.
    ///   - name: the app's name, which says nothing of a thread.
    init?(_ stack: ReportStack, _ crash: CrashDetails, process: Int, name: String) {
        let calls = stack.calls
        guard let innermost = calls.first else { return nil }
        // What raises a signal on purpose is no place to look at.
        // Nor is the runtime that found out: a trap is how it says so.
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
            // An offset says little by itself.
            words = "in \(named.name), from \(blamed.place)"
        }
        if let id = stack.id, id != process {
            words += ", on thread \(id)" + (stack.name.map { $0 == name ? "" : " \"\($0)\"" } ?? "")
        }
        self.words = words.singleLine(limit: 512)
    }
}
