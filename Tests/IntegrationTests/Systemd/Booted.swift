// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogLinux

/// Boots one container for all tests of a suite, and takes it down after the last.
struct Booted: SuiteTrait, TestScoping {
    /// The container of the suite whose tests run.
    @TaskLocal fileprivate static var container: Box?

    /// Tests of a suite run one after the other.
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
    /// In a container with a systemd of its own.
    static var booted: Self { Booted() }
}

/// The container of the suite to which the running test belongs.
func systemdContainer() throws -> SystemdContainer {
    try #require(Booted.container).container
}
