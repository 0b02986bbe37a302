// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy

/// The allowances in force for an app.
public struct AllowanceSummary: Hashable, Sendable, Codable {
    /// The allowance from `execve` to ready.
    public var launch: Microseconds
    /// The allowance of an answer of the main loop.
    public var update: Microseconds
    /// The allowance from the request to exit to the end of the process.
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
