// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// Limits how many examiners the processes of an app and of a user can make unkillable.
///
/// After ``recovery``, an examiner that has not died no longer counts against what its app and user may lose at once, so
/// that an app whose file server was silent for a while is examined again. It still counts against what they may lose in
/// total, until it has died.
public struct ExaminationBudget: Sendable {
    /// Why nothing of a tenant is examined at the moment.
    public struct Refusal: Hashable, Sendable, CustomStringConvertible {
        let stuck: StuckWaits.Refusal
        /// When the next examination is possible; nil if an examiner has to die first.
        public let until: Instant?

        /// The reason: "2 earlier examinations of this app have not returned".
        public var description: String { stuck.words("examination") }
        /// Whom it concerns.
        public var scope: StuckWaits.Refusal.Scope { stuck.scope }
    }

    /// How long an examiner that does not die counts against what its app and user may lose at once.
    public static let recovery = Duration.seconds(60)
    /// What may be lost within ``recovery``.
    static let recent = StuckWaits.Limits(app: 2, user: 4, all: 64)
    /// What may be lost in total: each is a process that keeps some memory.
    static let lasting = StuckWaits.Limits(app: 6, user: 12, all: 64)

    private var stuck = StuckWaits()

    /// Counts an examiner that cannot be killed; returns its number for ``end(_:)``.
    mutating func begin(for tenant: Tenant, at now: Instant) -> Int { stuck.begin(for: tenant, at: now) }

    /// Stops counting an examiner that has died.
    mutating func end(_ number: Int) { stuck.end(number) }

    /// Why a tenant's processes are not examined; nil if they are.
    func refusal(of tenant: Tenant, at now: Instant) -> Refusal? {
        if let refusal = stuck.refusal(of: tenant, within: Self.lasting) { return Refusal(stuck: refusal, until: nil) }
        let span = (now - Self.recovery + .nanoseconds(1))...now
        guard let refusal = stuck.refusal(of: tenant, within: Self.recent, begunIn: span) else { return nil }
        let oldest = stuck.oldest(for: refusal, within: Self.recent, begunIn: span)
        return Refusal(stuck: refusal, until: oldest.map { $0 + Self.recovery })
    }
}
