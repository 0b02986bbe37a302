// SPDX-License-Identifier: Apache-2.0

public import WatchdogLinux

/// A notice of a ``ControlServer`` about its connections.
public struct ControlNotice: Hashable, Sendable, CustomStringConvertible {
    /// What happened.
    public enum Kind: Hashable, Sendable {
        /// A new connection was closed because there are too many.
        case refused
        /// A connection was closed because its replies were not read.
        case unread
        /// A connection was closed because it was silent for too long.
        case silent
        /// A connection was closed because it sent an invalid message.
        case malformed(reason: String)
        /// A client called a method without the required right.
        case notPermitted(method: String)
        /// A connection could not be accepted, and none will be for a moment.
        case acceptFailed(Errno)
        /// Something else failed.
        case failed(LinuxError)
    }

    /// What happened.
    public let kind: Kind
    /// The client; nil if unknown.
    public let peer: ControlPeer?
    /// How many notices were suppressed before this one because there were too many.
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
