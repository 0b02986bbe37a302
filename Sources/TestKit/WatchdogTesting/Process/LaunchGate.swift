// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Limits how many supervisors start at the same time.
///
/// Hundreds of parallel tests would otherwise starve each other of CPU for longer than a launch allowance.
actor LaunchGate {
    static let shared = LaunchGate(limit: max(2, 2 * sysconf(Int32(_SC_NPROCESSORS_ONLN))))

    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(limit: Int) { free = limit }

    /// Waits for a free place, and calls a function.
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
