// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogConfiguration
import WatchdogLinux

@testable import WatchdogDaemon
@testable import WatchdogLaunch

@Suite("Destinations of output", .reapsChildren)
struct OutputTests {
    /// Runs a shell script with the planned output.
    private func run(_ script: String, _ plan: OutputPlan) throws {
        let streams = try StandardStreams(opening: plan, identifier: "app")
        var request = SpawnRequest(executable: "/bin/sh", arguments: ["sh", "-c", script])
        request.descriptors = streams.passed
        let process = try withExtendedLifetime(streams) { try spawn(request).process }
        defer { process.killAndReap() }
        #expect(eventually { process.hasExited })
        #expect(try process.waitExit()?.status == .exited(code: 0))
    }

    private func contents(_ path: String) throws -> String {
        String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
    }

    private func put(_ text: String, _ path: String) throws { try Data(text.utf8).write(to: URL(filePath: path)) }

    @Test("append keeps, truncate empties, and file overwrites existing content")
    func files() throws {
        try withTemporaryDirectory { directory in
            let path = "\(directory)/log"
            try put("before\n", path)
            try run("echo one; echo two >&2", OutputPlan(output: .append(path: path), error: .inherit))
            #expect(try contents(path) == "before\none\ntwo\n")
            try run("echo x", OutputPlan(output: .file(path: path), error: .null))
            #expect(try contents(path) == "x\nfore\none\ntwo\n")
            try run("echo y; echo z >&2", OutputPlan(output: .truncate(path: path), error: .truncate(path: path)))
            #expect(try contents(path) == "y\nz\n")
            try run("echo y; echo z >&2", OutputPlan(output: .null, error: .append(path: path)))
            #expect(try contents(path) == "y\nz\nz\n")
        }
    }

    @Test("a new file has the permissions that the mask allows, and its descriptor blocks")
    func rights() throws {
        try withTemporaryDirectory { directory in
            let path = "\(directory)/log"
            let file = try #require(try OutputTarget.append(path: path).open(fileModeMask: 0o037))
            var status = stat()
            #expect(fstat(file.number, &status) == 0)
            #expect(status.st_mode & 0o777 & 0o037 == 0)
            #expect(status.st_mode & 0o600 == 0o600)
            #expect(fcntl(file.number, F_GETFL) & (O_NONBLOCK | O_APPEND) == O_APPEND)
            #expect(fcntl(file.number, F_GETFD) & FD_CLOEXEC != 0)
        }
    }

    @Test("a file that cannot be opened is reported in one line, and never waited for")
    func errors() throws {
        try withTemporaryDirectory { directory in
            func message(_ path: String) -> String? {
                let target = OutputTarget.append(path: path)
                return #expect(throws: LinuxError.self) { try target.open(fileModeMask: 0o022) }?.description
            }
            #expect(
                message("\(directory)/none/log")
                    == "cannot open \(directory)/none/log: No such file or directory (ENOENT)")
            #expect(message(directory) == "cannot open \(directory): Is a directory (EISDIR)")
            let fifo = "\(directory)/fifo"
            #expect(mkfifo(fifo, 0o600) == 0)
            #expect(message(fifo) == "cannot open \(fifo), from which nobody reads: No such device or address (ENXIO)")
            let reader = try OwnedDescriptor(opening: fifo, flags: O_RDONLY | O_NONBLOCK)
            let writer = try OutputTarget.append(path: fifo).open(fileModeMask: 0o022)
            #expect(writer != nil)
            withExtendedLifetime(reader) {}
        }
    }

    @Test("a link is followed only if nobody else can change it")
    func links() throws {
        try withTemporaryDirectory { directory in
            let target = "\(directory)/target"
            let link = "\(directory)/link"
            try put("", target)
            #expect(symlink(target, link) == 0)
            #expect(chmod(directory, 0o755) == 0)
            let append = OutputTarget.append(path: link)
            #expect(try append.open(fileModeMask: 0o022) != nil)
            #expect(chmod(directory, 0o777) == 0)
            let error = #expect(throws: LinuxError.self) { try append.open(fileModeMask: 0o022) }
            let start = "cannot open \(link), a link that others than root can change: "
            #expect(error?.description.hasPrefix(start) == true)
        }
    }

    @Test("a link of another user is not followed, whoever owns its directory")
    func foreignLinks() throws {
        guard geteuid() == 0 else { return print("skipped: only root can make a link of another user") }
        try withTemporaryDirectory { directory in
            let link = "\(directory)/link"
            try put("", "\(directory)/target")
            #expect(symlink("\(directory)/target", link) == 0)
            #expect(lchown(link, 65_534, 65_534) == 0)
            #expect(throws: LinuxError.self) { try OutputTarget.truncate(path: link).open(fileModeMask: 0o022) }
        }
    }

    @Test("output to a file can be read back")
    func logOfFile() throws {
        try withTemporaryDirectory { directory in
            let path = "\(directory)/log"
            try put("before\n", path)
            let outputs = try StandardStreams(
                opening: OutputPlan(output: .append(path: path), error: .inherit), identifier: "app")
            guard case .file(let file) = outputs.log else {
                Issue.record("no log")
                return
            }
            try run("echo now", OutputPlan(output: .append(path: path), error: .inherit))
            #expect(LogSource.file(file).tail().map(\.text) == ["now"])
            // A file that is overwritten from its beginning mixes old and new lines.
            let over = try StandardStreams(
                opening: OutputPlan(output: .file(path: path), error: .inherit), identifier: "app")
            if case .file = over.log { Issue.record("a file that is written over has no log") }
            let none = try StandardStreams(opening: OutputPlan(output: .null, error: .null), identifier: "app")
            if none.log != nil { Issue.record("nothing can be read from /dev/null") }
            #expect(over.journalStream == nil)
        }
    }

    @Test("without journald, output for the journal goes to standard error, and the reason is recorded")
    func withoutJournal() throws {
        try withTemporaryDirectory { directory in
            let outputs = try StandardStreams(
                opening: OutputPlan(output: .journal, error: .inherit), identifier: "app",
                address: JournalAddress(directory: directory))
            #expect(
                outputs.journalRefusal?.description
                    == "cannot connect to the journal at \(directory)/stdout: No such file or directory (ENOENT)")
            func file(_ descriptor: Int32) -> [UInt64] {
                var status = stat()
                return fstat(descriptor, &status) == 0 ? [UInt64(status.st_dev), UInt64(status.st_ino)] : []
            }
            #expect(file(outputs.output.number) == file(STDERR_FILENO))
            #expect(outputs.error === outputs.output)
        }
    }
}
