// SPDX-License-Identifier: Apache-2.0

import WatchdogPolicy

/// Plain words for what an app was watched for.
///
/// Reports name it in the terms of Apple's, which a reader need not know. A foreign report may have any text.
package enum EventWords {
    /// What the app did not do: `did not answer`; other events as they are.
    package static func omission(_ event: String) -> String {
        WatchdogEvent(rawValue: event)?.omission ?? event
    }

    /// What an allowance is for: `to answer (scene-update)`.
    static func duty(_ event: String) -> String {
        switch WatchdogEvent(rawValue: event) {
        case .processLaunch, .sceneCreate: "to launch (\(event))"
        case .sceneUpdate: "to answer (\(event))"
        case .processExit: "to exit (\(event))"
        case .backgroundTask: "for background tasks"
        case .suspension, nil: "for \(event)"
        }
    }
}
