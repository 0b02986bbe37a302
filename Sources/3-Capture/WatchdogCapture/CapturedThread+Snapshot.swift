// SPDX-License-Identifier: Apache-2.0

import WatchdogVerdict

extension CapturedThread {
    /// Creates a thread from a snapshot, without frames.
    init(_ thread: SnapshotThread) {
        var registers: [String: UInt64] = [:]
        if thread.registerSource == .ptrace {
            for register in SnapshotRegister.allCases where register.rawValue <= SnapshotRegister.rflags.rawValue {
                registers[register.name] = thread[register]
            }
        }
        self.init(
            id: Int(thread.id),
            name: thread.name,
            state: thread.state,
            waitChannel: thread.waitChannel.isEmpty ? nil : thread.waitChannel,
            syscall: thread.systemCall.isEmpty ? nil : thread.systemCall,
            kernelStack: Self.functions(ofKernelStack: thread.kernelStack),
            runNanoseconds: thread.runNanoseconds,
            runDelayNanoseconds: thread.runDelayNanoseconds,
            voluntarySwitches: thread.voluntarySwitches,
            involuntarySwitches: thread.involuntarySwitches,
            registers: registers
        )
    }

    /// The function names in lines of the form "[<0>] do_select+0x6c/0x90 [module]".
    private static func functions(ofKernelStack text: String) -> [String] {
        text.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard words.count >= 2, words[0].hasPrefix("[<"), words[0].hasSuffix("]") else { return nil }
            return words[1].split(separator: "+").first.map(String.init)
        }
    }
}
