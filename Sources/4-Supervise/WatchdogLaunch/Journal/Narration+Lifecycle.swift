// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
package import WatchdogPolicy

extension Narration {
    package func text(for notice: LifecycleNotice) -> (isDetail: Bool, text: String) {
        switch notice {
        case .moving(let visibility):
            (true, "\(name) asked to go to the \(visibility.rawValue)")
        case .entered(let visibility, let after):
            (true, "\(name) in the \(visibility.rawValue)" + (after > .zero ? " after \(after.brief)" : ""))
        case .expiring(let count, let left):
            (
                false,
                "\(name) has \(left.brief) to end \(count == 1 ? "its background task" : "its \(count) background tasks")"
            )
        case .longTask(let task, let age):
            (
                false,
                "\(name) began the background task \"\(task.name.singleLine(limit: 128))\" \(age.brief) ago and has not"
                    + " ended it; in the background, the app could be killed for that"
            )
        case .suspended(let after):
            (true, "\(name) suspended, frozen after \(after.brief)")
        case .suspensionIncomplete:
            (false, "\(name) could not be frozen at once: one of its processes waits in the kernel")
        case .locksHeld(let files):
            (
                false,
                "\(name) is suspended and holds locks on "
                    + files.prefix(4).map { $0.path.singleLine(limit: 256) }.joined(separator: ", ")
                    + (files.count > 4 ? " and \(files.count - 4) more" : "")
            )
        case .resumed(let after):
            (true, "\(name) resumed after \(after.brief)")
        case .responsive(let after):
            (true, "\(name) answered \(after.brief) after the request to resume")
        case .handled(let event, let after):
            (true, "\(name) handled the event \(event.singleLine(limit: 64)) in \(after.brief)")
        case .lost(let event):
            (false, "\(name) lost the event \(event.singleLine(limit: 64)): nothing in it listens for that")
        case .refused(let request, let refusal):
            (false, "\(name): \(request.description.singleLine(limit: 80)) refused, \(refusal.words)")
        }
    }
}

extension LifecycleRefusal {
    /// As in "background refused, *it is not running*".
    package var words: String {
        switch self {
        case .notRunning: "it is not running"
        case .notTakingPart: "it does not take part in the lifecycle"
        case .alreadySuspended: "it is suspended, or about to be"
        case .notSuspended: "it is not suspended"
        case .tooManyEvents: "too many events wait for it"
        }
    }
}
