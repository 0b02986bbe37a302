// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase
public import WatchdogPolicy

/// How an app reports that its launch is complete: `Readiness=`.
public enum ReadinessSetting: Hashable, Sendable {
    /// `auto`: `READY=1` on the channel or the notify socket, required only of an app that has sent something on
    /// either.
    case automatic
    /// `channel`: `READY=1` on the channel of the `Watchdog` library.
    case channel
    /// `notify`: `READY=1` on the notify socket.
    case notify
    /// `listen:ADDR`: a socket is listening there, found without connecting to it.
    case listening(NetworkAddress)
    /// `exec:CMD`: a command for `/bin/sh -c` exits with code 0.
    case command(String)
    /// `probe`: the first success of ``WatchdogSettings/probe``.
    case probe
    /// `none`: a successful `execve`.
    case none

    /// The setting in the form for the policy.
    public var readiness: Readiness {
        switch self {
        case .automatic: .automatic
        case .channel: .channel
        case .notify: .notify
        case .listening: .listening
        case .command: .command
        case .probe: .probe
        case .none: .none
        }
    }
}
