// SPDX-License-Identifier: Apache-2.0

public import WatchdogLinux

/// Something about its connections that a ``ControlServer`` has to say.
public struct ControlNotice: Hashable, Sendable, CustomStringConvertible {
    /// What happened.
    public enum Kind: Hashable, Sendable {
        /// A connection was closed as soon as it was made: there are too many.
        case refused
        /// A connection was closed because its answers were not read.
        case unread
        /// A connection was closed because it was silent for too long.
        case silent
        /// A connection was closed because it carried what is not a call.
        case malformed(reason: String)
        /// A caller asked for what it may not do.
        case notPermitted(method: String)
        /// No connection could be taken, and none will be for a moment.
        case acceptFailed(Errno)
        /// Something else did not work.
        case failed(LinuxError)
    }

    /// What happened.
    public let kind: Kind
    /// Whose connection it was; nil when that is not known.
    public let peer: ControlPeer?
    /// How many notices were left out before this one, because there were too many.
    public let suppressed: Int

    /// One line.
    public var description: String {
        let who = peer.map { " of \($0)" } ?? ""
        let what =
            switch kind {
            case .refused: "refused a connection\(who): there are too many"
            case .unread: "closed a connection\(who) that did not read its answers"
            case .silent: "closed a connection\(who) that was silent for too long"
            case .malformed(let reason): "closed a connection\(who): \(reason)"
            case .notPermitted(let method): "refused \(method) to \(peer.map(\.description) ?? "a caller")"
            case .acceptFailed(let errno): "cannot take a connection: \(errno)"
            case .failed(let error): error.description
            }
        return what + (suppressed > 0 ? " (\(suppressed) more notices left out)" : "")
    }
}
