// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogConfiguration

@testable import WatchdogLaunch

@Suite("Grace periods of a container with several apps")
struct GracePeriodTests {
    private func listing(_ apps: [(name: String, text: String)]) throws -> ConfigurationListing {
        var listing = ConfigurationListing()
        listing.apps = try apps.map { name, text in
            AppDefinition(
                name: try AppName(name),
                files: [ConfigurationFile(path: "/a/\(name).app", contents: Array(text.utf8))], specifiers: .host)
        }
        return listing
    }

    @Test("Each app whose allowance and capture do not fit causes one warning, at its setting")
    func several() throws {
        let listing = try listing([
            ("fits", "[App]\nExecStart=/bin/true\n[Watchdog]\nTerminate=999ms\n"),
            ("long", "[App]\nExecStart=/bin/true\n[Watchdog]\nTerminate=1s\n"),
            ("default", "[App]\nExecStart=/bin/true\n"),
            ("invalid", "[App]\n"),
            ("template@", "[App]\nExecStart=/bin/true\n"),
            ("watched", "[App]\nObserve=nginx\n[Watchdog]\nProbe=tcp:127.0.0.1:80\n"),
        ])
        let warnings = listing.warnings(ofGracePeriod: .seconds(3)).map(\.description)
        #expect(warnings.count == 2, "\(warnings)")
        #expect(
            warnings.first
                == "/a/long.app:4:1: warning: Terminate: the grace period (3 s) is not longer than the terminate allowance "
                + "(1 s) and a capture (2 s) together: a program that does not end in time is killed without a crash log"
        )
        #expect(warnings.last?.hasPrefix("/a/default.app: warning: Terminate: the grace period (3 s)") == true)
    }

    @Test("An extra millisecond is enough, and an unknown grace period causes no warning")
    func enough() throws {
        let listing = try listing([("long", "[App]\nExecStart=/bin/true\n[Watchdog]\nTerminate=1s\n")])
        #expect(listing.warnings(ofGracePeriod: .milliseconds(3_000)).count == 1)
        #expect(listing.warnings(ofGracePeriod: .milliseconds(3_001)) == [])
        #expect(listing.warnings(ofGracePeriod: nil) == [])
    }
}
