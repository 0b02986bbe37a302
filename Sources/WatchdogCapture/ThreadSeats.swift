// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import WatchdogBase

/// Limits how many threads read the processes of a tenant, because the kernel may keep each of them forever.
///
/// Isolation: may be used from any thread.
public final class ThreadSeats: Sendable {
    private let limits: StuckWaits.Limits
    private let waits = Mutex(StuckWaits())

    /// Creates seats that nobody has taken.
    public init(limits: StuckWaits.Limits) { self.limits = limits }

    /// The number of seats that are taken.
    public var takenCount: Int { waits.withLock { $0.count } }

    /// Takes a seat, which its threads have to keep; fails if the tenant's threads have taken all that it may have.
    public func take(for tenant: Tenant, at now: Instant) -> Result<ThreadSeat, StuckWaits.Refusal> {
        let taken: Result<Int, StuckWaits.Refusal> = waits.withLock { waits in
            if let refusal = waits.refusal(of: tenant, within: limits) { return .failure(refusal) }
            return .success(waits.begin(for: tenant, at: now))
        }
        return taken.map { ThreadSeat($0, of: self) }
    }

    fileprivate func free(_ number: Int) { waits.withLock { $0.end(number) } }
}

/// A seat for the threads that keep this object; free again with the last reference.
public final class ThreadSeat: Sendable {
    private let number: Int
    private let seats: ThreadSeats

    fileprivate init(_ number: Int, of seats: ThreadSeats) {
        self.number = number
        self.seats = seats
    }

    deinit { seats.free(number) }
}
