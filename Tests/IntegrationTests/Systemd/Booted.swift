// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogLinux

/// Boots one container for all tests of a suite, and shuts it down after the last.
struct Booted: SuiteTrait, TestScoping {
    /// The container of the suite that is running.
    @TaskLocal fileprivate static var container: Box?

    /// Sendable because the tests of a suite run one after the other.
    fileprivate final class Box: @unchecked Sendable {
        let container: SystemdContainer
        init(_ container: SystemdContainer) { self.container = container }
    }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await Self.$container.withValue(Box(try SystemdContainer()), operation: function)
    }
}

extension Trait where Self == Booted {
    /// Runs the suite in a container with its own systemd.
    static var booted: Self { Booted() }
}

/// The container of the running test's suite.
func systemdContainer() throws -> SystemdContainer {
    try #require(Booted.container).container
}
