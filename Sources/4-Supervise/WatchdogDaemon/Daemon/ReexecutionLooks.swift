// SPDX-License-Identifier: Apache-2.0

/// Decides from repeated looks at this process whether it can execute its program again.
struct ReexecutionLooks {
    enum Decision: Equatable {
        case execute
        case lookAgain
        case refuse(String)
    }

    /// The time between two looks.
    static let interval = Duration.milliseconds(50)
    /// With ``interval``, 5 s: unfinished work and blocked threads may take so long.
    static let limit = 100

    private var count = 0
    /// For each thread that no signal would end now, the number of successive looks that saw it so.
    private var blocked: [Int32: Int] = [:]

    /// - Parameters:
    ///   - isBusy: whether captures, reports or commands are unfinished, which the next watchdogd would start again.
    ///   - threads: the threads that no signal would end now, and where each waits. execve(2) ends all other threads first, so
    ///     it would wait for these.
    mutating func look(isBusy: Bool, threadsBeyondSignals threads: [Int32: String]) -> Decision {
        count += 1
        // A thread that waits for a disk is blocked for a moment only, and at the next look another one may be.
        blocked = threads.keys.reduce(into: [:]) { $0[$1] = blocked[$1, default: 0] + 1 }
        if let stuck = blocked.first(where: { $0.value > Self.limit })?.key { return .refuse(threads[stuck] ?? "") }
        return threads.isEmpty && (!isBusy || count > Self.limit) ? .execute : .lookAgain
    }
}
