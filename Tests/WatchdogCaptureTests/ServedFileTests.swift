// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogVerdict

@testable import WatchdogCapture

/// Siblings: opening, closing, and reading attributes, by a capture and by a sampler.
@Suite(
    "Mapped files on a FUSE server", .reapsChildren,
    .enabled(if: geteuid() == 0 && access("/dev/fuse", R_OK | W_OK) == 0, "needs root and FUSE"))
struct ServedFileTests {
    private static let mapper = """
        #include <fcntl.h>
        #include <stdio.h>
        #include <sys/mman.h>
        #include <unistd.h>
        int main(int argc, char **argv) {
            int file = open(argv[1], O_RDONLY);
            if (argc != 2 || mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0) == MAP_FAILED) return 1;
            puts("ready");
            fflush(stdout);
            return (int)read(0, argv[1], 1);
        }
        """

    /// The descriptor of a mapped file whose server runs as `user`, in a snapshot of the program.
    private func descriptor(ofServerOf user: UInt32, by take: (Int32) throws -> Snapshot) throws -> Int? {
        let sources = "\(#filePath)".split(separator: "/").dropLast(2).reduce("") { "\($0)/\($1)" }
        let text = try bytes(of: "\(sources)/IntegrationTests/Subjects/silent-fuse.c")
        let folder = try temporaryDirectory()
        let server = try Subject(
            try Compiler.shared.executable(String(decoding: text, as: UTF8.self), name: "silent-fuse"),
            [folder, "none", "text", "\(user)"])
        defer { umount2(folder, 2 /* MNT_DETACH */) }
        try server.waitUntilReady()
        let subject = try Subject(
            try Compiler.shared.executable(Self.mapper, name: "mapper"), ["\(folder)/file"])
        try subject.waitUntilReady()
        let snapshot = try take(subject.process)
        let module = try #require(try snapshot.contents().modules.first { $0.path == "\(folder)/file" })
        let others = try snapshot.contents().modules.filter { $0.path.contains("libc.so") }
        #expect(others.allSatisfy { $0.descriptor != nil } && !others.isEmpty)
        return module.descriptor
    }

    @Test(
        "are opened if the server is root's, and left alone if it is another user's", arguments: [0, 65534] as [UInt32])
    func captured(user: UInt32) throws {
        let descriptor = try descriptor(ofServerOf: user) { try Snapshot.take(of: $0) }
        #expect((descriptor == nil) == (user != 0))
    }

    @Test(
        "are opened by a sampler if the server is root's, and left alone otherwise", arguments: [0, 65534] as [UInt32])
    func sampled(user: UInt32) throws {
        let descriptor = try descriptor(ofServerOf: user) { process in
            try Sampling.take(of: process, SamplingOptions(interval: .milliseconds(1), duration: .milliseconds(5)))
                .snapshot
        }
        #expect((descriptor == nil) == (user != 0))
    }
}
