// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import WatchdogLinux

/// Siblings: a folder of another user, a world-writable one, a link to one, a file.
@Suite("A user's own folder in a world-writable place")
struct OwnFolderTests {
    @Test("It is created for this user alone, and found again")
    func made() throws {
        try withTemporaryDirectory { place in
            let path = try #require(RuntimeDirectory.ownFolder(in: place))
            var status = stat()
            #expect(lstat(path, &status) == 0 && status.st_uid == geteuid() && status.st_mode & 0o777 == 0o700)
            #expect(RuntimeDirectory.ownFolder(in: place) == path)
        }
    }

    @Test("A folder that somebody else has created or can write is not used")
    func taken() throws {
        try withTemporaryDirectory { place in
            let path = "\(place)/watchdogd-\(geteuid())"
            try #require(mkdir("\(place)/elsewhere", 0o700) == 0 && symlink("elsewhere", path) == 0)
            #expect(RuntimeDirectory.ownFolder(in: place) == nil, "a link")
            #expect(unlink(path) == 0)
            try write("", to: path)
            #expect(RuntimeDirectory.ownFolder(in: place) == nil, "a file")
            #expect(unlink(path) == 0 && mkdir(path, 0o700) == 0)
            for mode: mode_t in [0o720, 0o702, 0o1777] {
                #expect(chmod(path, mode) == 0)
                #expect(RuntimeDirectory.ownFolder(in: place) == nil, "everybody's")
            }
            #expect(chmod(path, 0o700) == 0)
            #expect(RuntimeDirectory.ownFolder(in: place) == path)
            guard geteuid() == 0 else { return print("skipped: only root can give folders away") }
            #expect(chown(path, 65_534, 0) == 0)
            #expect(RuntimeDirectory.ownFolder(in: place) == nil, "somebody else's")
        }
    }
}
