// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The worker that a report is about: a process other than the app's main process that did not answer a probe, or a thread of
/// the main process other than its main thread.
public struct ServerDetails: Codable, Hashable, Sendable {
    /// The name of the worker (`comm`), which it can set.
    public var name: String
    /// Whether it has accepted the probe's connection; otherwise, it only listens.
    public var hasAccepted: Bool
    /// The ID of the main process; that of the report's process if the worker is one of its threads.
    public var mainProcess: Int

    /// Creates a value.
    public init(name: String, hasAccepted: Bool, mainProcess: Int) {
        self.name = name.singleLine(limit: 64)
        self.hasAccepted = hasAccepted
        self.mainProcess = mainProcess
    }
}
