// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@Suite("Waits that may last forever")
struct StuckWaitsTests {
    private static let limits = StuckWaits.Limits(app: 2, user: 3, all: 5)
    private static let app = Tenant(app: "a", user: 1)
    private static let sibling = Tenant(app: "b", user: 1)
    private static let stranger = Tenant(app: "a", user: 2)

    private static func moment(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

    private static func waits(_ tenants: Tenant...) -> StuckWaits {
        var waits = StuckWaits()
        for (second, tenant) in tenants.enumerated() { _ = waits.begin(for: tenant, at: moment(Int64(second))) }
        return waits
    }

    @Test("are rejected for an app at its limit, and not below")
    func app() {
        #expect(Self.waits(Self.app).refusal(of: Self.app, within: Self.limits) == nil)
        let full = Self.waits(Self.app, Self.app)
        #expect(full.refusal(of: Self.app, within: Self.limits)?.scope == .app(Self.app))
        #expect(full.refusal(of: Self.sibling, within: Self.limits) == nil, "another app of the user")
        #expect(full.refusal(of: Self.stranger, within: Self.limits) == nil, "an app of the same name")
    }

    @Test("are rejected for a user at the user's limit, and not below, and for no other user")
    func user() {
        let third = Tenant(app: "c", user: 1)
        #expect(Self.waits(Self.app, Self.sibling).refusal(of: third, within: Self.limits) == nil)
        let full = Self.waits(Self.app, Self.sibling, Self.app)
        #expect(full.refusal(of: third, within: Self.limits)?.scope == .user(1))
        #expect(full.refusal(of: Self.stranger, within: Self.limits) == nil)
        #expect(full.count == 3 && full.count(of: 1) == 3 && full.count(of: 2) == 0)
    }

    @Test("are rejected for everybody at the total limit, and not below")
    func all() {
        var waits = StuckWaits()
        for user in 1..<5 { _ = waits.begin(for: Tenant(app: "x", user: UInt32(user)), at: Self.moment(0)) }
        let newcomer = Tenant(app: "x", user: 9)
        #expect(waits.refusal(of: newcomer, within: Self.limits) == nil)
        let last = waits.begin(for: Tenant(app: "x", user: 5), at: Self.moment(0))
        #expect(waits.refusal(of: newcomer, within: Self.limits)?.scope == .all)
        waits.end(last)
        #expect(waits.refusal(of: newcomer, within: Self.limits) == nil, "one has returned")
    }

    @Test("count only if they began within the given time")
    func span() {
        let waits = Self.waits(Self.app, Self.app)
        let both = Self.moment(0)...Self.moment(1)
        let one = Instant(nanoseconds: 1)...Self.moment(1)
        #expect(waits.refusal(of: Self.app, within: Self.limits, begunIn: both) != nil)
        #expect(waits.refusal(of: Self.app, within: Self.limits, begunIn: one) == nil)
        let refusal = waits.refusal(of: Self.app, within: Self.limits)
        #expect(refusal.flatMap { waits.oldest(for: $0, within: Self.limits, begunIn: both) } == Self.moment(0))
        #expect(refusal.flatMap { waits.oldest(for: $0, within: Self.limits, begunIn: one) } == nil)
    }

    @Test("are described with their number and their owner")
    func words() {
        var waits = Self.waits(Self.app)
        let one = StuckWaits.Limits(app: 1, user: 9, all: 9)
        #expect(
            waits.refusal(of: Self.app, within: one)?.words("capture")
                == "1 earlier capture of this app has not returned")
        _ = waits.begin(for: Self.sibling, at: Self.moment(0))
        let user = StuckWaits.Limits(app: 9, user: 2, all: 9)
        #expect(
            waits.refusal(of: Self.app, within: user)?.words("capture")
                == "2 earlier captures of user 1's processes have not returned")
        let all = StuckWaits.Limits(app: 9, user: 9, all: 2)
        #expect(waits.refusal(of: Self.app, within: all)?.words("capture") == "2 earlier captures have not returned")
    }
}
