// SPDX-License-Identifier: Apache-2.0

/// The allowances of an app, in wall-clock time.
///
/// The defaults are those of iOS: 20 s to launch, 10 s for an answer of the main loop, 5 s to end. They are starting
/// points of the policy, not constants of the code: each spec has its own.
public struct Allowances: Hashable, Sendable, Codable {
    /// From `execve` to ready; one budget for `process-launch` and `scene-create`.
    public var launch: Duration
    /// From a ping to the main loop's answer, or between two `WATCHDOG=1` messages.
    public var update: Duration
    /// From the request to terminate until the process is gone.
    public var terminate: Duration

    private enum CodingKeys: String, CodingKey { case launch, update, terminate }

    /// Creates allowances; each must be positive.
    public init(launch: Duration = .seconds(20), update: Duration = .seconds(10), terminate: Duration = .seconds(5)) {
        precondition(launch > .zero && update > .zero && terminate > .zero, "an allowance must be positive")
        self.launch = launch
        self.update = update
        self.terminate = terminate
    }
}
