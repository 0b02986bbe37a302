// SPDX-License-Identifier: Apache-2.0

import WatchdogReport

/// The launch of an app that an event is about.
package struct EventSubject: Hashable, Sendable {
    /// The app's name.
    package var app: String
    /// Its main process.
    package var pid: Int32?
    /// Distinguishes this launch from all others.
    package var launch: String?
    /// The app's version, if it is known.
    package var version: String?

    package init(app: String, pid: Int32? = nil, launch: String? = nil, version: String? = nil) {
        self.app = app
        self.pid = pid
        self.launch = launch
        self.version = version
    }
}

extension LaunchShell {
    /// This launch as it appears in the journal.
    package var subject: EventSubject {
        EventSubject(
            app: configuration.name, pid: pid, launch: configuration.launchID.description,
            version: configuration.version)
    }
}
