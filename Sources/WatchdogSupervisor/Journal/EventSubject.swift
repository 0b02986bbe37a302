// SPDX-License-Identifier: Apache-2.0

import WatchdogReport

/// The launch of an app that an event is about.
struct EventSubject: Hashable, Sendable {
    /// The app's name.
    var app: String
    /// Its main process.
    var pid: Int32?
    /// Tells this launch from all others.
    var launch: String?
}

extension LinuxKernel {
    /// This launch, as the journal names it.
    var subject: EventSubject {
        EventSubject(app: configuration.name, pid: pid, launch: configuration.launchID.description)
    }
}
