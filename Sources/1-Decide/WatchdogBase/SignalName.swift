// SPDX-License-Identifier: Apache-2.0

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
