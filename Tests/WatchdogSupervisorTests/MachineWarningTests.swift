// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogConfiguration

@testable import WatchdogDaemon
@testable import WatchdogLaunch

@Suite("Warnings about this machine")
struct MachineWarningTests {
    @Test("A file or folder of root's configuration that others can write is reported", .enabled(if: geteuid() == 0))
    func writers() throws {
        try withTemporaryDirectory { directory in
            let file = "\(directory)/one.app"
            try #require(fopen(file, "w").map { fclose($0) } == 0)
            let app = AppDefinition(
                name: try AppName("one"), files: [ConfigurationFile(path: file, contents: [])], specifiers: .host)
            func warnings(file fileMode: mode_t, folder: mode_t, owner: uid_t = 0) -> [String] {
                chmod(file, fileMode)
                chmod(directory, folder)
                chown(file, owner, 0)
                return app.writerWarnings(below: "/tmp/").map(\.description)
            }
            let why = "and so decide what root runs"
            #expect(warnings(file: 0o664, folder: 0o755) == [], "the group is root's")
            #expect(
                warnings(file: 0o666, folder: 0o755) == [
                    "\(file): warning: users other than root can write to it (owner 0, group 0, mode 0666), \(why)"
                ])
            #expect(
                warnings(file: 0o644, folder: 0o777) == [
                    "\(directory): warning: users other than root can write to it (owner 0, group 0, mode 0777), \(why)"
                ])
            #expect(warnings(file: 0o644, folder: 0o755, owner: 7).count == 1)
            #expect(app.writerWarnings(below: "/etc/watchdogd/") == [])
        }
    }
}
