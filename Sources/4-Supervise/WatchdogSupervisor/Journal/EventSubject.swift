// SPDX-License-Identifier: Apache-2.0

import WatchdogReport

/// The launch of an app that an event is about.
struct EventSubject: Hashable, Sendable {
    /// The app's name.
    var app: String
    /// Its main process.
    var pid: Int32?
    /// Distinguishes this launch from all others.
    var launch: String?
    /// The app's version, if it is known.
    var version: String?
}

extension LaunchShell {
    /// This launch as it appears in the journal.
    var subject: EventSubject {
        EventSubject(
            app: configuration.name, pid: pid, launch: configuration.launchID.description,
            version: configuration.version)
    }
}
