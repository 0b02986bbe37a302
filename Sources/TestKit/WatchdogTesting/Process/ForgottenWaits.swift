// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization
internal import Testing

/// Tracks the waits of tests, so that a test that forgets to await one fails instead of passing.
///
/// Isolation: any thread.
enum ForgottenWaits {
    private struct State {
        var pending: [Int: String] = [:]
        var last = 0
        var isRegistered = false
    }

    private static let state = Mutex(State())

    /// The test that is running, by name.
    static var test: String { Test.current.map { "test \($0.name)" } ?? "a test" }

    /// Records the start of a wait.
    ///
    /// - Returns: the argument of ``end(_:)``.
    static func begin(_ what: String) -> Int {
        let test = test
        return state.withLock { state in
            if !state.isRegistered {
                state.isRegistered = true
                atexit { ForgottenWaits.report() }
            }
            state.last += 1
            state.pending[state.last] = "\(test) waits for \(what)"
            return state.last
        }
    }

    static func end(_ id: Int) { state.withLock { _ = $0.pending.removeValue(forKey: id) } }

    static var isPending: Bool { state.withLock { !$0.pending.isEmpty } }

    /// Fails the runner if a test has ended with a pending wait, because its result was never checked.
    private static func report() {
        let pending = state.withLock { $0.pending.values.sorted() }
        guard !pending.isEmpty else { return }
        let lines = pending.map { "watchdogd: \($0), but the tests are over; write 'try await', or await the task\n" }
        complain(lines.joined())
        fflush(nil)
        // _exit(2), because exit(3) must not be called again in an atexit(3) handler.
        _exit(70)
    }

    /// Warns about an app whose end was never awaited.
    static func warn(_ name: String) {
        let words =
            "\(test) launched \(name) but never awaited it; await ready(), an expectation or terminate(), and keep"
            + " the app until then"
        if Test.current != nil {
            Issue.record(Comment(rawValue: words), severity: .warning)
        } else {
            complain("watchdogd: \(words)\n")
        }
    }

    private static func complain(_ text: String) {
        let bytes = Array(text.utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}
