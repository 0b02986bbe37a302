// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy

/// How an app tells that its launch is over: `Readiness=`.
public enum ReadinessSetting: Hashable, Sendable {
    /// `auto`: `READY=1` on the channel or the notify socket, demanded only of an app that speaks on either.
    case automatic
    /// `channel`: `READY=1` on the channel of the `Watchdog` library.
    case channel
    /// `notify`: `READY=1` on the notify socket.
    case notify
    /// `listen:ADDR`: a socket listens there; looked up, never connected to.
    case listening(NetworkAddress)
    /// `exec:CMD`: a command for `/bin/sh -c` exits with 0.
    case command(String)
    /// `probe`: the first success of ``WatchdogSettings/probe``.
    case probe
    /// `none`: a successful `execve`.
    case none

    /// What the policy has to know of it.
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
