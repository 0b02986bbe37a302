// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import WatchdogBase

/// Limits the number of threads that read a tenant's processes, because the kernel may block each of them forever.
///
/// Isolation: may be used from any thread.
public final class ThreadSeats: Sendable {
    private let limits: StuckWaits.Limits
    private let waits = Mutex(StuckWaits())

    /// Creates free seats.
    public init(limits: StuckWaits.Limits) { self.limits = limits }

    /// The number of taken seats.
    public var takenCount: Int { waits.withLock { $0.count } }

    /// Takes a seat, which its threads must retain; fails if the tenant has reached its limit.
    public func take(for tenant: Tenant, at now: Instant) -> Result<ThreadSeat, StuckWaits.Refusal> {
        let taken: Result<Int, StuckWaits.Refusal> = waits.withLock { waits in
            if let refusal = waits.refusal(of: tenant, within: limits) { return .failure(refusal) }
            return .success(waits.begin(for: tenant, at: now))
        }
        return taken.map { ThreadSeat($0, of: self) }
    }

    fileprivate func free(_ number: Int) { waits.withLock { $0.end(number) } }
}

/// A seat for the threads that retain this object; the last reference frees it.
public final class ThreadSeat: Sendable {
    private let number: Int
    private let seats: ThreadSeats

    fileprivate init(_ number: Int, of seats: ThreadSeats) {
        self.number = number
        self.seats = seats
    }

    deinit { seats.free(number) }
}
