// SPDX-License-Identifier: Apache-2.0

/// The names of signals 1 to 31 on x86-64 and arm64 (signal(7)), without their prefix.
private let names = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM",
    "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO",
    "PWR", "SYS",
]

/// `SIGTERM` for 15; `signal 34` where there is no name.
func signalName(_ signal: Int32) -> String {
    (1...31).contains(signal) ? "SIG" + names[Int(signal) - 1] : "signal \(signal)"
}
