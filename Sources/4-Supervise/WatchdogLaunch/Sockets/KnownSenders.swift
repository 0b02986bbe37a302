// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLinux

/// The processes of an app whose messages need no look-up: the main process, and the last other one that was looked up.
///
/// A process that is not reaped has its ID to itself. So a message with this ID, sent after the process had it, comes from
/// that process, and from no earlier or later one with the same ID.
///
/// Isolation: the loop's thread.
final class KnownSenders {
    private struct Known {
        let process: Pidfd
        /// Messages that were sent earlier may come from a former process with the same ID.
        let since: Instant

        func hasSent(_ message: SocketMessage, at sent: Instant) -> Bool {
            process.pid == message.senderProcess && since < sent && process.isPresent
        }
    }

    private var main: Known?
    private var other: Known?

    func setMain(_ process: Pidfd, launchedAt instant: Instant) {
        main = Known(process: process, since: instant)
    }

    fileprivate func include(senderOf message: SocketMessage) -> Bool {
        let sent = Instant.now() - message.age
        return main?.hasSent(message, at: sent) == true || other?.hasSent(message, at: sent) == true
    }

    /// Notes a process of the app; one that the kernel did not name by a pidfd is looked up again.
    fileprivate func note(senderOf message: SocketMessage) {
        guard let sender = message.sender else { return }
        other = Known(process: sender, since: .now() - message.age)
    }
}

/// Judges who has sent a message to an app's notify socket.
struct SenderJudge {
    private let known: KnownSenders
    private let lookUp: (SocketMessage) -> SenderStanding

    init(_ known: KnownSenders = KnownSenders(), lookUp: @escaping (SocketMessage) -> SenderStanding) {
        self.known = known
        self.lookUp = lookUp
    }

    /// Whether it is known without a look-up that the sender belongs to the app.
    func knows(senderOf message: SocketMessage) -> Bool { known.include(senderOf: message) }

    /// Whether the sender belongs to the app.
    func standing(ofSender message: SocketMessage) -> SenderStanding {
        if knows(senderOf: message) { return .member }
        let standing = lookUp(message)
        if standing == .member { known.note(senderOf: message) }
        return standing
    }
}
