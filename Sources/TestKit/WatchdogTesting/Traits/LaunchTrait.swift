// SPDX-License-Identifier: Apache-2.0

public import Testing

/// Settings for the apps that a test launches without explicit settings.
public struct LaunchTrait: TestTrait, SuiteTrait, TestScoping {
    /// The settings.
    public let settings: LaunchSettings

    /// True: the trait of a suite applies to all its tests.
    public var isRecursive: Bool { true }

    /// Runs the test with the settings as its default.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await LaunchSettings.$inherited.withValue(settings, operation: function)
    }
}

extension Trait where Self == LaunchTrait {
    /// Sets the launch allowance of the apps that the test launches; one that is not ready in time is killed.
    public static func launch(within limit: Duration) -> LaunchTrait {
        LaunchTrait(settings: LaunchSettings(launch: limit))
    }

    /// The settings of apps that the test launches.
    public static func launch(_ settings: LaunchSettings) -> LaunchTrait { LaunchTrait(settings: settings) }
}
