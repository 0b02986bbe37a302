// SPDX-License-Identifier: Apache-2.0

/// How a process ended.
public enum ExitStatus: Hashable, Sendable, Codable {
    /// It called `exit` with this code.
    case exited(code: Int32)
    /// A signal killed it.
    case signaled(signal: Int32, coreDumped: Bool)
    /// It is gone, but the kernel no longer reports how it ended.
    case unknown

    private enum CodingKeys: String, CodingKey { case exited, signaled, unknown }
    private enum ExitedCodingKeys: String, CodingKey { case code }
    private enum SignaledCodingKeys: String, CodingKey { case signal, coreDumped }

    /// The exit code that a shell would report: the code itself, or 128 + signal.
    public var shellCode: Int32 {
        switch self {
        case .exited(let code): code
        case .signaled(let signal, _): 128 + signal
        case .unknown: 255
        }
    }
}

/// The names of signals: signal(7).
///
/// The numbers are those of x86-64 and arm64.
public enum SignalName {
    private static let names = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM",
        "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF",
        "WINCH", "IO", "PWR", "SYS",
    ]

    /// `SIGTERM` for 15; `signal 34` for a signal without a name.
    public static func of(_ signal: Int) -> String {
        (1...31).contains(signal) ? "SIG" + names[signal - 1] : "signal \(signal)"
    }
}
