// SPDX-License-Identifier: Apache-2.0

/// Counts waits that a tenant can make last forever, such as a read of its memory, and refuses more of them.
///
/// An app's share is smaller than its user's, and a user's is smaller than all: what one app or user makes wait costs no
/// other user anything.
public struct StuckWaits: Sendable {
    /// How many waits there may be at once.
    public struct Limits: Hashable, Sendable {
        /// Of one app.
        public var app: Int
        /// Of all apps of one user.
        public var user: Int
        /// In total.
        public var all: Int

        /// Creates limits.
        public init(app: Int, user: Int, all: Int) {
            self.app = app
            self.user = user
            self.all = all
        }
    }

    /// Why a wait is refused: a limit is reached.
    public struct Refusal: Error, Hashable, Sendable {
        /// Whose limit.
        public enum Scope: Hashable, Sendable {
            /// That of one app.
            case app(Tenant)
            /// That of one user.
            case user(UInt32)
            /// The one for all.
            case all
        }

        /// Whose limit is reached.
        public let scope: Scope
        /// How many waits there are within this scope.
        public let count: Int

        /// The reason in words.
        ///
        /// - Parameter what: what waits, in the singular: "capture".
        /// - Returns: "4 earlier captures of user 1000's processes have not returned".
        public func words(_ what: String) -> String {
            let subject = "\(count) earlier \(what)\(count == 1 ? "" : "s")"
            let verb = count == 1 ? "has" : "have"
            return switch scope {
            case .app: "\(subject) of this app \(verb) not returned"
            case .user(let user): "\(subject) of user \(user)'s processes \(verb) not returned"
            case .all: "\(subject) \(verb) not returned"
            }
        }
    }

    private struct Wait {
        let tenant: Tenant
        let since: Instant
    }

    private var waits: [Int: Wait] = [:]
    private var lastNumber = 0

    /// Creates a value that counts no wait.
    public init() {}

    /// The number of waits in total.
    public var count: Int { waits.count }

    /// Counts a wait from now on; returns its number for ``end(_:)``.
    public mutating func begin(for tenant: Tenant, at now: Instant) -> Int {
        lastNumber += 1
        waits[lastNumber] = Wait(tenant: tenant, since: now)
        return lastNumber
    }

    /// Stops counting a wait that has returned.
    public mutating func end(_ number: Int) { waits[number] = nil }

    /// The number of waits of a user's apps.
    public func count(of user: UInt32) -> Int { waits.values.count { $0.tenant.user == user } }

    /// Why a tenant may have no further wait; nil if it may.
    ///
    /// - Parameters:
    ///   - limits: how many waits there may be.
    ///   - span: counts only waits that began in it; nil for all.
    public func refusal(
        of tenant: Tenant, within limits: Limits, begunIn span: ClosedRange<Instant>? = nil
    ) -> Refusal? {
        let counted = waits.values.filter { span?.contains($0.since) ?? true }
        let ofUser = counted.filter { $0.tenant.user == tenant.user }
        let ofApp = ofUser.count { $0.tenant == tenant }
        if ofApp >= limits.app { return Refusal(scope: .app(tenant), count: ofApp) }
        if ofUser.count >= limits.user { return Refusal(scope: .user(tenant.user), count: ofUser.count) }
        if counted.count >= limits.all { return Refusal(scope: .all, count: counted.count) }
        return nil
    }

    /// When the wait began that has to leave the count before a refusal can end; nil if none counts.
    ///
    /// - Parameters:
    ///   - refusal: the refusal.
    ///   - limits: those that it is about.
    ///   - span: that of the refusal.
    public func oldest(
        for refusal: Refusal, within limits: Limits, begunIn span: ClosedRange<Instant>
    ) -> Instant? {
        let counted = waits.values.filter { wait in
            guard span.contains(wait.since) else { return false }
            return switch refusal.scope {
            case .app(let tenant): wait.tenant == tenant
            case .user(let user): wait.tenant.user == user
            case .all: true
            }
        }
        let limit =
            switch refusal.scope {
            case .app: limits.app
            case .user: limits.user
            case .all: limits.all
            }
        let sorted = counted.map(\.since).sorted()
        guard limit > 0, sorted.count >= limit else { return nil }
        return sorted[sorted.count - limit]
    }
}

/// An app, and the user that it runs as: whose share of a limited resource something takes.
public struct Tenant: Hashable, Sendable {
    /// The app's name.
    public let app: String
    /// Its user ID.
    public let user: UInt32

    /// Creates a tenant.
    public init(app: String, user: UInt32) {
        self.app = app
        self.user = user
    }
}
