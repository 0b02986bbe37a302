// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogPolicy

/// The event that an app was launched for, and what became of it.
///
/// The payload is not kept: it may be private, and only the app can interpret it.
package struct LaunchCause: Hashable, Sendable {
    /// What became of the event.
    enum Fate: Hashable, Sendable {
        /// The app has not answered it yet.
        case awaited
        /// The app handled it, this long after it was sent.
        case handled(after: Duration)
        /// Nothing in the app listens for it.
        case lost
        /// It was not sent.
        case refused(LifecycleRefusal)
    }

    private let kind: String
    private let sender: String?
    private let payloadSize: Int
    var fate = Fate.awaited

    init(_ event: LaunchingEvent) {
        (kind, sender, payloadSize) = (event.kind, event.sender, event.payload.utf8.count)
    }

    /// The event and its fate in one line: `url from mail, 20 bytes of payload: handled in 2.10 ms`.
    package var words: String {
        let fate =
            switch fate {
            case .awaited: "not handled yet"
            case .handled(let after): "handled in \(after.brief)"
            case .lost: "lost, because nothing in the app listens for it"
            case .refused(let refusal): "refused, because \(refusal.words)"
            }
        let payload = payloadSize == 0 ? "" : ", \(payloadSize.counted("byte")) of payload"
        return kind.singleLine(limit: 64) + (sender.map { " from \($0.singleLine(limit: 64))" } ?? "") + payload
            + ": \(fate)"
    }
}
