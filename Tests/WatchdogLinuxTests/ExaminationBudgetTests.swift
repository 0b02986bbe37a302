// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("The budget of examinations")
struct ExaminationBudgetTests {
    private static let recovery = ExaminationBudget.recovery
    private static let start = Instant(nanoseconds: 5_000_000_000)
    private static let instant = Duration.nanoseconds(1)
    private static let app = Tenant(app: "a", user: 1)

    @Test("an app uses it up with the second loss, not with the first")
    func app() {
        var budget = ExaminationBudget()
        _ = budget.begin(for: Self.app, at: Self.start)
        #expect(budget.refusal(of: Self.app, at: Self.start) == nil)
        _ = budget.begin(for: Self.app, at: Self.start)
        #expect(budget.refusal(of: Self.app, at: Self.start)?.scope == .app(Self.app))
        #expect(budget.refusal(of: Tenant(app: "b", user: 1), at: Self.start) == nil)
        #expect(budget.refusal(of: Tenant(app: "a", user: 2), at: Self.start) == nil)
    }

    @Test("a user uses it up with the fourth loss, not with the third, and other users are unaffected")
    func user() {
        var budget = ExaminationBudget()
        for app in ["a", "b", "c"] { _ = budget.begin(for: Tenant(app: app, user: 1), at: Self.start) }
        let last = Tenant(app: "d", user: 1)
        #expect(budget.refusal(of: last, at: Self.start) == nil)
        _ = budget.begin(for: last, at: Self.start)
        #expect(budget.refusal(of: Tenant(app: "e", user: 1), at: Self.start)?.scope == .user(1))
        #expect(budget.refusal(of: Tenant(app: "e", user: 2), at: Self.start) == nil)
    }

    @Test("an examination is restored when the recovery time has passed, and not before")
    func recovery() {
        var budget = ExaminationBudget()
        _ = budget.begin(for: Self.app, at: Self.start)
        _ = budget.begin(for: Self.app, at: Self.start + .seconds(3))
        let due = Self.start + Self.recovery
        #expect(budget.refusal(of: Self.app, at: Self.start + .seconds(3))?.until == due)
        #expect(budget.refusal(of: Self.app, at: due - Self.instant)?.until == due)
        #expect(budget.refusal(of: Self.app, at: due) == nil)
        // Only one is restored: the next loss uses it up again, until the second one has recovered.
        _ = budget.begin(for: Self.app, at: due)
        #expect(budget.refusal(of: Self.app, at: due)?.until == due + .seconds(3))
    }

    @Test("examiners that do not die count in total until they die, however old they are")
    func lasting() {
        var budget = ExaminationBudget()
        var now = Self.start
        var losses: [Int] = []
        while budget.refusal(of: Self.app, at: now) == nil, losses.count < 100 {
            losses.append(budget.begin(for: Self.app, at: now))
            now = now + Self.recovery
        }
        #expect(losses.count == ExaminationBudget.lasting.app)
        #expect(budget.refusal(of: Self.app, at: now + Self.recovery * 1_000)?.until == nil)
        #expect(budget.refusal(of: Self.app, at: now + Self.recovery * 1_000) != nil)
        budget.end(losses[0])
        #expect(budget.refusal(of: Self.app, at: now) == nil)
    }

    @Test("the shares of one app and one user are smaller than the total")
    func shares() {
        for limits in [ExaminationBudget.recent, ExaminationBudget.lasting] {
            #expect(limits.app < limits.user && limits.user * 4 < limits.all)
        }
        #expect(ExaminationBudget.recent.user <= ExaminationBudget.lasting.user)
    }
}
