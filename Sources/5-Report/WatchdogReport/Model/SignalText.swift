// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Signals in words: signal(7), sigaction(2).
///
/// The numbers are those of x86-64 and arm64.
package enum SignalText {
    /// The signals with a fault address.
    static let faults: Set<Int> = [illegal, trap, bus, arithmetic, segmentation]
    package static let illegal = 4
    package static let trap = 5
    package static let abort = 6
    package static let bus = 7
    package static let arithmetic = 8
    static let kill = 9
    package static let segmentation = 11
    package static let systemCall = 31

    /// `Segmentation fault: 11`, as in Apple's reports.
    static func indicator(_ signal: Int) -> String {
        let words: [Int: String] = [
            1: "Hangup", 2: "Interrupt", 3: "Quit", 4: "Illegal instruction", 5: "Trace/BPT trap", 6: "Abort trap",
            7: "Bus error", 8: "Floating point exception", 9: "Killed", 10: "User defined signal 1",
            11: "Segmentation fault", 12: "User defined signal 2", 13: "Broken pipe", 14: "Alarm clock",
            15: "Terminated", 24: "Cputime limit exceeded", 25: "Filesize limit exceeded",
            26: "Virtual timer expired", 27: "Profiling timer expired", 31: "Bad system call",
        ]
        // Real-time signals have no names, only numbers.
        let word = words[signal] ?? SignalName.of(signal)
        return (1...31).contains(signal) ? "\(word): \(signal)" : word
    }

    static func codeName(_ code: Int, of signal: Int) -> String? {
        switch code {
        case 0: return "SI_USER"
        case -1: return "SI_QUEUE"
        case -2: return "SI_TIMER"
        case -6: return "SI_TKILL"
        case 0x80: return "SI_KERNEL"
        default: break
        }
        let names: [Int: [String]] = [
            segmentation: ["MAPERR", "ACCERR", "BNDERR", "PKUERR"].map { "SEGV_" + $0 },
            bus: ["ADRALN", "ADRERR", "OBJERR", "MCEERR_AR", "MCEERR_AO"].map { "BUS_" + $0 },
            illegal: ["OPC", "OPN", "ADR", "TRP", "PRVOPC", "PRVREG", "COPROC", "BADSTK"].map { "ILL_" + $0 },
            arithmetic: ["INTDIV", "INTOVF", "FLTDIV", "FLTOVF", "FLTUND", "FLTRES", "FLTINV", "FLTSUB"].map {
                "FPE_" + $0
            },
            trap: ["BRKPT", "TRACE", "BRANCH", "HWBKPT"].map { "TRAP_" + $0 },
            systemCall: ["SYS_SECCOMP"],
        ]
        guard let list = names[signal], (1...list.count).contains(code) else { return nil }
        return list[code - 1]
    }

    /// The meaning of a code, as in "SIGSEGV at 0x0, *where no memory is mapped*".
    static func meaning(of code: String) -> String? {
        switch code {
        case "SEGV_MAPERR": "where no memory is mapped"
        case "SEGV_ACCERR": "which does not permit this kind of access"
        case "SEGV_PKUERR": "which a protection key forbids"
        case "BUS_ADRALN": "which is not aligned"
        case "BUS_ADRERR": "which lies beyond the end of a file"
        case "BUS_MCEERR_AR", "BUS_MCEERR_AO": "where the memory is broken"
        case "FPE_INTDIV": "a division by zero"
        case "FPE_INTOVF": "an integer overflow"
        default: nil
        }
    }
}
