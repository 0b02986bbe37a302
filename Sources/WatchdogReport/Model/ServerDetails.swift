// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// That a report is about a worker: a process other than the app's main process, which should have answered a probe.
public struct ServerDetails: Codable, Hashable, Sendable {
    /// The name that the worker gave itself.
    public var name: String
    /// Whether it has accepted the probe's connection; if not, it listens.
    public var hasAccepted: Bool
    /// The ID of the main process.
    public var mainProcess: Int

    /// Creates a value.
    public init(name: String, hasAccepted: Bool, mainProcess: Int) {
        self.name = name.singleLine(limit: 64)
        self.hasAccepted = hasAccepted
        self.mainProcess = mainProcess
    }
}
