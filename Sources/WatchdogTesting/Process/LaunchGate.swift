// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Limits how many supervisors start at the same time.
///
/// Hundreds of tests in parallel would otherwise keep each other from a CPU for longer than a launch may take.
actor LaunchGate {
    static let shared = LaunchGate(limit: max(2, 2 * sysconf(Int32(_SC_NPROCESSORS_ONLN))))

    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(limit: Int) { free = limit }

    /// Calls a function when it is its turn.
    func pass<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
        defer {
            if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
        }
        return try await body()
    }
}
