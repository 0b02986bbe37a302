// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy

/// The allowances in force for an app.
public struct AllowanceSummary: Hashable, Sendable, Codable {
    /// From `execve` to ready.
    public var launch: Microseconds
    /// For an answer of the main loop.
    public var update: Microseconds
    /// From the request to end until the process is gone.
    public var terminate: Microseconds

    /// Converts the policy's allowances.
    public init(_ allowances: Allowances) {
        launch = Microseconds(allowances.launch)
        update = Microseconds(allowances.update)
        terminate = Microseconds(allowances.terminate)
    }

    private enum CodingKeys: String, CodingKey {
        case launch = "launchUSec"
        case update = "updateUSec"
        case terminate = "terminateUSec"
    }
}
