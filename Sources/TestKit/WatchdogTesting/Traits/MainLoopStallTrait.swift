// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
public import Testing

/// Fails a test whose body keeps the main actor busy for too long, with the stack of the stall.
///
/// ```swift
/// @Test(.mainLoopStall(limit: .milliseconds(250)))
/// @MainActor func reloads() { Feed().reload() }
/// ```
public struct MainLoopStallTrait: TestTrait, SuiteTrait, TestScoping {
    /// The maximum time until the main queue runs its next item.
    public let limit: Duration

    /// True: the trait of a suite applies to all its tests.
    public var isRecursive: Bool { true }

    /// Watches the main queue while the test runs, and records an issue for each stall.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let monitor = try MainLoopMonitor(limit: limit)
        let result: Result<Void, any Error>
        do {
            result = .success(try await function())
        } catch {
            result = .failure(error)
        }
        for stall in await monitor.finish() {
            if let sample = stall.sample { Attachment.record(Array(sample.utf8), named: "stall.txt") }
            Issue.record(
                "the main actor was busy for \(stall.duration), longer than \(limit)\(stall.stack)",
                sourceLocation: test.sourceLocation)
        }
        try result.get()
    }
}

extension Trait where Self == MainLoopStallTrait {
    /// Fails the test if it keeps the main queue or main actor busy for longer.
    ///
    /// Time in which the main thread was runnable without a CPU does not count. Tests that share a runner share its
    /// main thread: run those with this trait `.serialized`, otherwise a stall may be attributed to another test.
    public static func mainLoopStall(limit: Duration) -> MainLoopStallTrait { MainLoopStallTrait(limit: limit) }
}
