// SPDX-License-Identifier: Apache-2.0

/// How an app reports that its launch is complete.
public enum Readiness: Hashable, Sendable, Codable {
    /// `READY=1` on the channel or the notify socket, whichever comes first.
    ///
    /// It is required only of an app that has sent something on either. One that has sent nothing is ready at the first
    /// success of its ``AppSpec/livenessProbe``, if it has one, and counts as launched when its launch allowance ends.
    case automatic
    /// `READY=1` on the channel of the `Watchdog` library.
    case channel
    /// `READY=1` on the notify socket (sd_notify(3)).
    case notify
    /// A socket in the listening state, found without connecting to it.
    case listening
    /// A command that exits with code 0.
    case command
    /// The first success of ``AppSpec/livenessProbe``.
    case probe
    /// A successful `execve`.
    case none

    private enum CodingKeys: String, CodingKey { case automatic, channel, notify, listening, command, probe, none }

    /// Whether readiness has a probe of its own, which the supervisor repeats until it succeeds.
    public var isProbed: Bool {
        switch self {
        case .listening, .command: true
        case .automatic, .channel, .notify, .probe, .none: false
        }
    }
}

/// What made an app ready.
public enum ReadinessSource: String, Hashable, Sendable, Codable {
    /// `READY=1` on the channel.
    case channel = "channel"
    /// `READY=1` on the notify socket.
    case notify = "notify"
    /// A listening socket, a command that succeeded, or a liveness probe that was answered.
    case probe = "probe"
    /// `execve` succeeded, and nothing more was required.
    case exec = "exec"
    /// The launch allowance ended without a message from the app.
    case assumed = "assumed"
}
