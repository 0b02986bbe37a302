// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogReport

@testable import WatchdogLaunch

@Suite("The link by which a program is started")
struct ProgramLinkTests {
    @Test("is one that leads to a file of another name")
    func links() throws {
        try withTemporaryDirectory { folder in
            let real = try #require(realpath(folder, nil).map { String(cString: $0) })
            #expect(close(creat("\(folder)/check", 0o755)) == 0)
            #expect(mkdir("\(folder)/bin", 0o755) == 0)
            #expect(symlink("check", "\(folder)/other") == 0)
            #expect(symlink("../other", "\(folder)/bin/server") == 0)
            #expect(symlink("../check", "\(folder)/bin/check") == 0)
            let link = ProgramLink("server", to: "\(real)/check")
            #expect(link != nil)
            #expect(LaunchConfiguration.link("\(folder)/bin/server", in: nil) == link)
            #expect(LaunchConfiguration.link("bin/server", in: folder) == link)
            #expect(LaunchConfiguration.link("\(folder)/check", in: "/") == nil)
            #expect(LaunchConfiguration.link("\(folder)/bin/check", in: nil) == nil, "the name is the same")
            #expect(LaunchConfiguration.link("\(folder)/bin/nothing", in: nil) == nil)
        }
    }
}
