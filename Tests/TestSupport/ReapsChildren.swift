// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
public import Testing

/// Fails a test that leaves a child of this process behind, and runs such tests one after the other.
///
/// Swift Testing waits for its exit tests with `waitid(P_ALL, WNOWAIT)`, which returns the same zombie forever: one
/// that a test leaves prevents all later exit tests of the process from ending. In its own test, it is a failure that
/// names it.
public struct ReapsChildren: TestTrait, SuiteTrait, TestScoping {
    @TaskLocal private static var isChecking = false
    private static let turns = Turns()

    /// Suites within a suite check too.
    public var isRecursive: Bool { true }

    /// Checks each case of a test, and not a suite as a whole.
    public func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? { testCase == nil ? nil : self }

    /// Runs the test while no other is running, and looks for new children.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        // A suite within a suite has it twice.
        guard !Self.isChecking else { return try await function() }
        await Self.turns.begin()
        defer { Self.turns.end() }
        let before = Set(ChildProcess.all.map(\.pid))
        let outcome: Result<Void, any Error>
        do {
            try await Self.$isChecking.withValue(true, operation: function)
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        // A child that a thread of the product reaps may outlive its test by a moment.
        var left: [ChildProcess] = []
        let end = ContinuousClock.now + patience / 4
        repeat {
            left = ChildProcess.all.filter { !before.contains($0.pid) && !$0.isShared }
            if left.isEmpty { break }
            usleep(1000)
        } while ContinuousClock.now < end
        for child in left {
            Issue.record("left a child behind: \(child)", sourceLocation: test.sourceLocation)
            child.reap()
        }
        try outcome.get()
    }
}

extension Trait where Self == ReapsChildren {
    /// Fails a test that leaves a child of this process behind.
    public static var reapsChildren: Self { Self() }
}

/// Lets one test run at a time.
private final class Turns: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    func begin() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                if state.isTaken {
                    state.waiting.append(continuation)
                    return false
                }
                state.isTaken = true
                return true
            }
            if isFree { continuation.resume() }
        }
    }

    func end() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard !state.waiting.isEmpty else {
                state.isTaken = false
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.resume()
    }
}
