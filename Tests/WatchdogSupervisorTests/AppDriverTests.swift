// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux
import WatchdogPolicy

@testable import WatchdogDaemon
@testable import WatchdogLaunch
@testable import WatchdogRun

@Suite("What drives an app's machine", .serialized)
struct AppDriverTests {
    /// An app whose every run is healthy, so that each restart is due at once.
    private final class Bench {
        let loop: EventLoop
        let driver: AppDriver
        private(set) var launches = 0

        init() throws {
            var settings = RestartSettings()
            settings.policy = .always
            settings.healthyTime = .zero
            loop = try EventLoop()
            driver = AppDriver(
                AppMachine(.enabled, restart: Shared(wrappedValue: settings), seed: 1), on: loop)
            driver.perform = { [unowned self] in if case .create = $0 { launches += 1 } }
            driver.receive(.begun)
        }

        /// Has the latest launch run and end.
        func run() {
            let launch = LaunchID("\(launches)")
            driver.receive(.created(launch, hasPreparations: false))
            driver.receive(.launched(launch, mayBeSilent: false))
            driver.receive(.ready(launch))
            let outcome = Outcome(cause: .exited, status: .exited(code: 1), isDeathVerified: true)
            driver.receive(.ended(launch, .init(outcome, hasPendingReports: false, reason: "it ended")))
        }

        func waits(for count: Int) throws -> Bool {
            let end = Instant.now() + patience
            while launches < count, .now() < end { _ = try loop.runOnce(limit: .milliseconds(50)) }
            return launches == count
        }
    }

    @Test("A due restart follows the end at once, unless a launch has begun in this turn", arguments: [true, false])
    func atOnce(isFree: Bool) throws {
        let bench = try Bench()
        bench.driver.mayLaunchAtOnce = { isFree }
        #expect(bench.launches == 1)
        bench.run()
        #expect(bench.launches == (isFree ? 2 : 1))
        #expect(try bench.waits(for: 2))
    }

    @Test("An app that ends all the time is restarted by its timer, which lets the events of others pass")
    func pause() throws {
        let bench = try Bench()
        bench.driver.mayLaunchAtOnce = { true }
        bench.run()
        #expect(bench.launches == 2)
        let second = Instant.now()
        bench.run()
        #expect(bench.launches == 2 || .now() - second > .milliseconds(500))
        #expect(try bench.waits(for: 3))
    }
}
