// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import WatchdogLinux

@Suite("Regular files")
struct RegularFileTests {
    /// A folder with a file, other kinds of files, and paths to all of them.
    private func withFolder(_ body: (_ folder: String, _ inner: OwnedDescriptor) throws -> Void) throws {
        try withTemporaryDirectory { folder in
            let inner = "\(folder)/inner"
            mkdir(inner, 0o755)
            for path in ["\(folder)/outside", "\(inner)/file"] { try write("", to: path) }
            mkfifo("\(inner)/fifo", 0o644)
            symlink("file", "\(inner)/link")
            symlink("../outside", "\(inner)/way-out")
            symlink("/dev/null", "\(inner)/device")
            try body(folder, try OwnedDescriptor(opening: inner, flags: O_RDONLY | O_DIRECTORY))
        }
    }

    private func opens(_ body: () throws -> OwnedDescriptor) -> Bool { (try? body()) != nil }

    @Test("A file is opened by its path and through links; a FIFO, a device and a folder are not")
    func anywhere() throws {
        try withFolder { folder, _ in
            for (name, isFile) in [
                ("inner/file", true), ("inner/link", true), ("inner/way-out", true), ("inner/fifo", false),
                ("inner/device", false), ("inner", false), ("none", false),
            ] {
                #expect(
                    opens { try OwnedDescriptor.regularFile(at: ByteString("\(folder)/\(name)")) } == isFile, "\(name)")
            }
            #expect(throws: LinuxError("open \(folder)/inner/fifo", Errno(rawValue: EINVAL))) {
                try OwnedDescriptor.regularFile(at: ByteString("\(folder)/inner/fifo"))
            }
        }
    }

    @Test("Below a folder, links, .. and absolute paths are rejected")
    func beneath() throws {
        try withFolder { folder, inner in
            for (name, isFile) in [
                ("file", true), ("./file", true), ("link", false), ("way-out", false), ("../outside", false),
                ("\(folder)/inner/file", false), ("fifo", false), ("device", false), (".", false), ("", false),
            ] {
                #expect(
                    opens { try OwnedDescriptor.regularFile(at: ByteString(name), beneath: inner) } == isFile, "\(name)"
                )
            }
        }
    }
}
