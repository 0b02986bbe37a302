// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

/// The examiner's source is forked only before there are threads, so IntegrationTests covers it.
@Suite("When watchdogd exits, its fork servers", .reapsChildren)
struct ProcessSourcesTests {
    private let source: CloserSource
    private let process: Pidfd
    private let sources: ProcessSources

    init() throws {
        source = try CloserSource.start()
        process = try #require(source.process)
        sources = ProcessSources(closer: source)
    }

    private var descendants: [Int32] { Procfs.children(of: process.pid) }

    private func hasEnded(_ process: Int32) -> Bool { kill(process, 0) != 0 && errno == ESRCH }

    private func socketPair() throws -> (OwnedDescriptor, OwnedDescriptor) {
        var ends: [Int32] = [-1, -1]
        try #require(wd_socket_pair(&ends) == 0)
        return (OwnedDescriptor(taking: ends[0]), OwnedDescriptor(taking: ends[1]))
    }

    @Test("have exited with their children and are reaped, even if a kept socket is still in use")
    func all() throws {
        let loop = try EventLoop()
        let closer = try Closer(source, on: loop)
        let (socket, stranger) = try socketPair()
        _ = closer.keep(socket, for: 1)
        try #require(eventually { descendants.count == 1 })
        let keeper = try #require(descendants.first)
        #expect(sources.processes == [process.pid])
        closer.end()
        sources.end(by: .now() + patience)
        #expect(hasEnded(process.pid))
        // A subreaper may still have it, if that had no CPU for as long as the source waits.
        #expect(eventually { ProcessStat.read(keeper).map { $0.state == .zombie } ?? true })
        var entry = pollfd(fd: stranger.number, events: 0, revents: 0)
        #expect(poll(&entry, 1, 0) == 1 && Int32(entry.revents) & Int32(POLLHUP) != 0, "nobody has the other end")
        withExtendedLifetime((closer, socket)) {}
    }

    @Test("have exited even if they forked nothing, and ending them twice is harmless")
    func unused() throws {
        sources.end(by: .now() + patience)
        #expect(hasEnded(process.pid))
        sources.end(by: .now())
    }

    @Test("are killed if they do not exit in time")
    func held() throws {
        #expect(kill(process.pid, SIGSTOP) == 0)
        try #require(eventually { ProcessStat.read(process.pid)?.state == .stopped })
        sources.end(by: .now() + .milliseconds(20))
        #expect(hasEnded(process.pid))
    }

    @Test("are not awaited any longer if a closing process does not exit; that one is left behind")
    func stuck() throws {
        guard let fileSystem = try SilentFileSystem(withoutAnswerTo: "flush") else { return }
        defer { fileSystem.end() }
        let loop = try EventLoop()
        let closer = try Closer(source, on: loop)
        let (socket, end) = try socketPair()
        let ticket = closer.keep(socket, for: 1)
        let script = """
            import os, socket, sys, time
            socket.send_fds(socket.socket(fileno=0), [b"a"], [os.open(sys.argv[1], os.O_RDONLY)])
            time.sleep(100000)
            """
        var request = SpawnRequest(
            executable: "/usr/bin/python3",
            arguments: ["python3", "-c", ByteString(script), ByteString(fileSystem.file)])
        request.descriptors[0].source = end.number
        let stranger = try spawn(request)
        defer {
            try? stranger.process.send(SIGKILL)
            fileSystem.end()
            _ = try? waitForExit(stranger.process)
        }
        try #require(waitReadable(socket))
        closer.take(ticket) {}
        try #require(eventually { descendants.count == 1 })
        let keeper = try #require(descendants.first)
        func stuck() -> [Int32] {
            Procfs.children(of: keeper).filter { WaitChannel.read($0, thread: $0) == "request_wait_answer" }
        }
        try #require(eventually { stuck().count == 1 })
        let left = try #require(stuck().first)
        closer.end()
        sources.end(by: .now() + .milliseconds(20))
        #expect(hasEnded(process.pid))
        #expect(!hasEnded(left), "it closes the file")
        fileSystem.end()
        #expect(eventually { ProcessStat.read(left).map { $0.state == .zombie } ?? true })
        withExtendedLifetime(closer) {}
    }
}
