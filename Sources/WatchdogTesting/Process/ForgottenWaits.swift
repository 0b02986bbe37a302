// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization
internal import Testing

/// What tests wait for, so that a test that forgets to await fails instead of passing.
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

    /// Notes that a test waits.
    ///
    /// - Returns: what ``end(_:)`` takes.
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

    /// Notes that a wait is over.
    static func end(_ id: Int) { state.withLock { _ = $0.pending.removeValue(forKey: id) } }

    /// Whether anything waits.
    static var isPending: Bool { state.withLock { !$0.pending.isEmpty } }

    /// Fails the runner if a test has ended while it still waits: nobody has seen the result.
    private static func report() {
        let pending = state.withLock { $0.pending.values.sorted() }
        guard !pending.isEmpty else { return }
        let lines = pending.map { "watchdogd: \($0), but the tests are over; write 'try await', or await the task\n" }
        complain(lines.joined())
        fflush(nil)
        // exit(3) must not be called again from a handler of its own.
        _exit(70)
    }

    /// Warns of an app that nobody has awaited.
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
