// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogControl
import WatchdogLinux

@testable import WatchdogLaunch

/// Siblings: the reports, launch history and configuration of a user's daemon, which all lie below it.
@Suite("The folder for a user's files")
struct HomeTests {
    @Test("is HOME if that is a path, and never a folder that anybody could have created")
    func home() throws {
        let usual: Environment = ["HOME": "/srv/me"]
        #expect(usual.home == "/srv/me")
        let others: [Environment] = [[:], ["HOME": "here"], ["HOME": ""]]
        for other in others {
            let home = other.home
            var status = stat()
            #expect(home.hasPrefix("/") && home != "/tmp" && !home.hasPrefix("/tmp/.local"))
            // A folder that the user or root owns, or that does not exist.
            #expect(home == "/dev/null" || stat(home, &status) != 0 || [0, geteuid()].contains(status.st_uid))
        }
        let places = try DaemonPlaces(scope: .user, controlPath: .system, environment: usual)
        #expect(places.configurationDirectory == "/srv/me/.config/watchdogd/apps.d")
        #expect(places.historyPath == "/srv/me/.local/state/watchdogd/history.db")
    }
}
