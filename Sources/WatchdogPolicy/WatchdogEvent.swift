// SPDX-License-Identifier: Apache-2.0

/// What an app was being watched for, in the words of Apple's reports (`WatchdogEvent: scene-update`).
public enum WatchdogEvent: String, Sendable, Codable, CaseIterable {
    /// From `execve` until the app's runtime says hello, or until it is ready when it never does.
    case processLaunch = "process-launch"
    /// From hello until the app is ready; has what is left of the launch allowance.
    case sceneCreate = "scene-create"
    /// An answer of the main loop.
    case sceneUpdate = "scene-update"
    /// From the request to terminate until the process is gone.
    case processExit = "process-exit"
}

/// Why a process was terminated: a code in a namespace, as in `Termination Reason: WATCHDOG 2343432205`.
public struct TerminationCode: Hashable, Sendable, Codable {
    /// `WATCHDOG` for our own kills.
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
    /// Source: Apple, "Understanding the exception types in a crash report", EXC_CRASH (SIGKILL).
    public static let ateBadFood = TerminationCode(namespace: "WATCHDOG", code: 0x8bad_f00d)
}

/// How a process ended.
public enum ExitStatus: Hashable, Sendable, Codable {
    /// It called `exit` with this code.
    case exited(code: Int32)
    /// A signal ended it.
    case signaled(signal: Int32, coreDumped: Bool)
    /// It is gone, but the kernel no longer tells how.
    case unknown

    /// The exit code a shell would report: the code itself, or 128 + signal.
    public var shellCode: Int32 {
        switch self {
        case .exited(let code): code
        case .signaled(let signal, _): 128 + signal
        case .unknown: 255
        }
    }
}
