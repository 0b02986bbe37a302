// SPDX-License-Identifier: Apache-2.0

import WatchdogCapture
import WatchdogVerdict

extension CapturedThread {
    /// Creates a thread with all facts of the snapshot except the stack.
    init(facts thread: SnapshotThread) {
        var registers: [String: UInt64] = [:]
        if thread.registerSource == .ptrace {
            for register in SnapshotRegister.allCases { registers[register.name] = thread[register] }
        }
        self.init(
            id: Int(thread.id),
            name: thread.name,
            state: thread.state,
            // The kernel writes "0" for a running thread, and for one that may not be inspected.
            waitChannel: ["", "0"].contains(thread.waitChannel) ? nil : thread.waitChannel,
            syscall: thread.systemCall.isEmpty ? nil : thread.systemCall,
            kernelStack: CapturedThread.functions(ofKernelStack: thread.kernelStack),
            runNanoseconds: thread.runNanoseconds,
            runDelayNanoseconds: thread.runDelayNanoseconds,
            voluntarySwitches: thread.voluntarySwitches,
            involuntarySwitches: thread.involuntarySwitches,
            registers: registers
        )
    }

    /// The function names in lines such as `[<0>] do_epoll_wait+0x7d4/0x8a0`; the last line may be truncated.
    static func functions(ofKernelStack text: String) -> [String] {
        text.split(separator: "\n").compactMap { line in
            guard let bracket = line.firstIndex(of: "]") else { return nil }
            let name = line[line.index(after: bracket)...].drop { $0 == " " }.prefix { $0 != "+" && $0 != " " }
            return name.isEmpty ? nil : String(name)
        }
    }
}

extension Registers {
    /// The registers of a thread; nil if none were captured.
    init?(_ thread: SnapshotThread) {
        self.init(count: X86_64.registerCount)
        guard thread.registerSource != .none else { return nil }
        for number in 0..<X86_64.registerCount {
            self[number] = SnapshotRegister(rawValue: number).flatMap { thread[$0] }
        }
    }
}
