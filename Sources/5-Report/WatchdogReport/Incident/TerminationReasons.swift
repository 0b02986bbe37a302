// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogPolicy

/// The lines under `Termination Reason`, worded as in iOS 15 and later.
enum TerminationReasons {
    static func lines(_ facts: IncidentFacts, processorCount: Int) -> [String] {
        let domain = domains[facts.code.namespace].map { "domain:\($0) " } ?? ""
        let code = "0x" + String(facts.code.code, radix: 16, uppercase: true)
        return [
            "<RBSTerminateContext| \(domain)code:\(code) explanation:\(explanation(facts))",
            "ProcessVisibility: \(facts.visibility.rawValue)",
            "ProcessState: \(facts.processState.rawValue)",
            "WatchdogEvent: \(facts.event.rawValue)",
            "WatchdogVisibility: \(facts.watchdogVisibility.rawValue)",
            "WatchdogCPUStatistics: (",
        ] + (facts.cpu.map { statistics($0, processorCount) } ?? []) + [
            ") reportType:CrashLog maxTerminationResistance:Interactive>"
        ]
    }

    /// The numbers of the namespaces: `OS_REASON_…` in XNU's `bsd/sys/reason.h`.
    private static let domains = ["SIGNAL": 2, "RUNNINGBOARD": 15, "WATCHDOG": 20]

    private static func explanation(_ facts: IncidentFacts) -> String {
        let subject = "app<\(facts.appName)>:\(facts.pid)"
        let transgression = "\(facts.event.rawValue) watchdog transgression: \(subject)"
        let seconds = facts.allowance.seconds(fractionDigits: 2)
        switch facts.exhaustion {
        case .wallClock: return "\(transgression) exhausted real (wall clock) time allowance of \(seconds) seconds"
        case .cpuTime: return "\(transgression) exhausted CPU time allowance of \(seconds) seconds"
        case .termination:
            return "[\(subject)] Failed to terminate gracefully after \(facts.allowance.seconds(fractionDigits: 1))s"
        case .backgroundTask, .taskCount, .lockedFiles:
            return "[\(subject)] \(facts.lifecycle?.cause ?? facts.event.rawValue)"
        case .triggered: return "\(transgression) asked for its own termination"
        case .ended: return "[\(subject)] Ended by itself"
        case .requested: return "[\(subject)] Captured on request; nothing was exhausted"
        }
    }

    private static func statistics(_ cpu: CPUStatistics, _ processorCount: Int) -> [String] {
        let total = cpu.systemUser + cpu.systemKernel
        let user = cpu.systemUser.seconds(fractionDigits: 3)
        let kernel = cpu.systemKernel.seconds(fractionDigits: 3)
        let percent = cpu.percent(total, processorCount: processorCount)
        let application = cpu.percent(cpu.application, processorCount: processorCount)
        return [
            "\"Elapsed total CPU time (seconds): \(total.seconds(fractionDigits: 3)) "
                + "(user \(user), system \(kernel)), \(percent)% CPU\",",
            "\"Elapsed application CPU time (seconds): \(cpu.application.seconds(fractionDigits: 3)), "
                + "\(application)% CPU\"",
        ]
    }
}
