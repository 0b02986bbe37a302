// SPDX-License-Identifier: Apache-2.0

/// Why a process was terminated: a code in a namespace, as in `Termination Reason: WATCHDOG 2343432205`.
public struct TerminationCode: Hashable, Sendable, Codable {
    /// `WATCHDOG` for watchdogd's own kills.
    public var namespace: String
    /// The code, printed in decimal in reports and in hexadecimal everywhere else.
    public var code: UInt64

    /// Creates a code in a namespace.
    public init(namespace: String, code: UInt64) {
        self.namespace = namespace
        self.code = code
    }

    /// 0x8badf00d: an allowance was exhausted.
    ///
    /// The source of this and the following codes: Apple, "Understanding the exception types in a crash report",
    /// EXC_CRASH (SIGKILL).
    public static let ateBadFood = TerminationCode(namespace: "WATCHDOG", code: 0x8bad_f00d)
    /// 0xdead10cc, "dead lock": a file was locked while the app was suspended.
    public static let deadLock = TerminationCode(namespace: "WATCHDOG", code: 0xdead_10cc)
    /// 0x2182bad2: a background task was open when its time ran out.
    public static let backgroundTask = TerminationCode(namespace: "WATCHDOG", code: 0x2182_bad2)
    /// 0xbada5e47, "bad asset": too many background tasks were open at once.
    public static let tooManyTasks = TerminationCode(namespace: "WATCHDOG", code: 0xbada_5e47)
    /// 0xc51bad01: too much CPU time in the background.
    public static let backgroundCPUTime = TerminationCode(namespace: "WATCHDOG", code: 0xc51b_ad01)
    /// 0xc51bad03: a background task was open when its time ran out, but the machine had no CPU for the app.
    public static let machineBusy = TerminationCode(namespace: "WATCHDOG", code: 0xc51b_ad03)

    /// All codes that watchdogd uses.
    public static let all = [ateBadFood, deadLock, backgroundTask, tooManyTasks, backgroundCPUTime, machineBusy]

    /// The code in hexadecimal: `0x8badf00d`.
    public var hexadecimal: String { "0x" + String(code, radix: 16) }
}

extension Incident {
    /// The code that the app is terminated with.
    public var code: TerminationCode {
        switch cause {
        case .exhausted, .triggered, .probesFailed, .launchCPUTime: .ateBadFood
        case .backgroundTasks(_, isMachineBusy: false): .backgroundTask
        case .backgroundTasks(_, isMachineBusy: true): .machineBusy
        case .tooManyTasks: .tooManyTasks
        case .backgroundCPUTime: .backgroundCPUTime
        case .lockedFiles: .deadLock
        }
    }
}
