// SPDX-License-Identifier: Apache-2.0

public import WatchdogLinux

/// A notice of a ``ControlServer`` about its connections.
public struct ControlNotice: Hashable, Sendable, CustomStringConvertible {
    /// The kinds of notices.
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
        /// A connection could not be accepted, and accepting pauses for a moment.
        case acceptFailed(Errno)
        /// Something else failed.
        case failed(LinuxError)
    }

    /// The kind of the notice.
    public let kind: Kind
    /// The client; nil if unknown.
    public let peer: ControlPeer?
    /// The number of notices that the rate limit suppressed before this one.
    public let suppressed: Int

    /// The notice as one line for a log.
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
