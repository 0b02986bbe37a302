// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import WatchdogLinux

@Suite("The location of a notify socket", .enabled(if: geteuid() == 0, "gives folders to another user"))
struct NotifySocketPlaceTests {
    private func mode(_ path: String) -> UInt32? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode : nil
    }

    @Test("It is open to everyone, but only under its address, and removed with its object")
    func address() throws {
        try withTemporaryDirectory { folder in
            let address = "\(folder)/app.1f"
            do {
                let socket = try NotifySocket(address: address)
                #expect(mode(address) == S_IFSOCK | 0o666)
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 1)
                withExtendedLifetime(socket) {}
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        }
    }

    @Test("Root follows its own link to the folder, but none that somebody else could make")
    func links() throws {
        try withTemporaryDirectory { folder in
            let (real, theirs) = ("\(folder)/real", "\(folder)/theirs")
            #expect(mkdir(real, 0o755) == 0 && mkdir(theirs, 0o755) == 0)
            #expect(symlink(real, "\(folder)/link") == 0 && symlink(real, "\(theirs)/link") == 0)
            #expect(chown(theirs, 65_534, 65_534) == 0)
            _ = try NotifySocket(address: "\(folder)/link/app")
            #expect(throws: LinuxError.self) { _ = try NotifySocket(address: "\(theirs)/link/app") }
            #expect(try FileManager.default.contentsOfDirectory(atPath: real).isEmpty)
        }
    }
}
