// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import Synchronization
import TestSupport
import Testing
import WatchdogBase
import WatchdogVerdict

@testable import WatchdogCapture
@testable import WatchdogLinux

/// Copiers that are threads of this process.
private final class ThreadCopiers: Sendable {
    /// The response to a request.
    enum Reply: Sendable {
        /// Sends the bytes.
        case bytes
        /// Immediately sends the error of a timeout; the others may take as long as a busy machine does.
        case lateness
        /// Never answers.
        case silence
    }

    /// The sockets of copiers whose requests are never answered.
    private final class Silent: Sendable {
        private let sockets = Mutex<[OwnedDescriptor]>([])

        func keep(_ socket: OwnedDescriptor) { sockets.withLock { $0.append(socket) } }
    }

    let copiers: Copiers
    private let silent = Silent()
    private let source: OwnedDescriptor

    init(
        patience limit: Duration = patience,
        replying reply: @escaping @Sendable (wd_copy_request) -> Reply = { _ in .bytes }
    ) throws {
        var ends: [Int32] = [-1, -1]
        try #require(wd_socket_pair(&ends) == 0)
        source = OwnedDescriptor(taking: ends[0])
        let own = OwnedDescriptor(taking: ends[1])
        copiers = Copiers(source, patience: limit)
        try WorkerThread.start { [silent] in
            var numbers = [Int32](repeating: -1, count: WD_SOCKET_MOST_DESCRIPTORS)
            var message = wd_socket_message()
            var byte: UInt8 = 0
            while true {
                var entry = pollfd(fd: own.number, events: Int16(POLLIN), revents: 0)
                poll(&entry, 1, -1)
                guard wd_socket_receive(own.number, &byte, 1, &message, &numbers) == 0, !message.end else { return }
                for number in numbers.prefix(message.descriptor_count) {
                    let socket = OwnedDescriptor(taking: number)
                    try? WorkerThread.start { Self.serve(socket, silent, reply) }.detach()
                }
            }
        }
        .detach()
    }

    /// Ends the serving thread.
    deinit { shutdown(source.number, Int32(SHUT_RDWR)) }

    private static func serve(_ socket: OwnedDescriptor, _ silent: Silent, _ reply: (wd_copy_request) -> Reply) {
        var request = wd_copy_request()
        var file: Int32 = -1
        while wd_copy_receive(socket.number, &request, &file) == 0 {
            let reply = reply(request)
            if reply == .bytes {
                guard wd_copy_answer(socket.number, &request, file) == 0 else { return }
                continue
            }
            if file >= 0 { close(file) }
            // It has not exited when it is abandoned.
            silent.keep(socket)
            let late = [ETIMEDOUT, 0]
            if reply == .lateness { send(socket.number, late, 8, Int32(MSG_NOSIGNAL)) }
            return
        }
    }
}

@Suite("A snapshot whose memory copiers read", .reapsChildren)
struct CopiedSnapshotTests {
    private static let tenant = Tenant(app: "app", user: 1)

    private func take(
        of process: Int32, _ options: SnapshotOptions, by copiers: Copiers
    ) throws -> Result<Snapshot, SnapshotError> {
        let copying = copiers.copying(for: Self.tenant)
        return try ThreadWithResult {
            let arena = try SnapshotArena(resident: 0)
            arena.copying = copying
            return arena.take(of: process, options).0
        }
        .result()
    }

    private func expectMarkers(
        _ subject: Subject, in contents: SnapshotContents, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for marker in subject.markers {
            let thread = contents.threads.first { $0.id == marker.thread }
            #expect(thread?.stack?.word(at: marker.address) == marker.value, sourceLocation: sourceLocation)
        }
    }

    @Test(
        "contains the stacks of all threads",
        arguments: [CapturedProcess.Method.ptrace, .procfsRegisters])
    func stacks(method: CapturedProcess.Method) throws {
        let subject = try Subject("threads", "5")
        let copiers = try ThreadCopiers()
        let contents = try take(of: subject.process, .patient(method: method), by: copiers.copiers).get().contents()
        #expect(contents.threads.count == 5 && !subject.markers.isEmpty)
        expectMarkers(subject, in: contents)
        #expect(contents.process.truncation == nil)
    }

    @Test("names the memory that does not answer, and contains the stacks anyway, now and later")
    func silentPage() throws {
        let subject = try Subject("threads", "5")
        // The last one captured.
        let marker = try #require(subject.markers.max { $0.thread < $1.thread })
        let copiers = try ThreadCopiers { request in
            let range = request.ranges.0
            return range.start > marker.address || marker.address - range.start >= range.length ? .bytes : .lateness
        }
        let options = SnapshotOptions.patient()
        let first = try take(of: subject.process, options, by: copiers.copiers).get().contents()
        #expect(first.process.truncation?.contains("the page at 0x") == true)
        #expect(first.process.truncation?.contains("did not answer") == true)
        #expect(first.threads.count == 5)
        for other in subject.markers where other.thread != marker.thread {
            let stack = first.threads.first { $0.id == other.thread }?.stack
            #expect(stack?.word(at: other.address) == other.value)
        }
        // The second copier also received that page's request: here it is in memory.
        #expect(copiers.copiers.lostCount == 2)
        let refusal = copiers.copiers.refusal(of: Self.tenant)
        #expect(refusal?.words("capture") == "2 earlier captures of this app have not returned")
    }

    @Test("is careful after an earlier timeout: it reads only resident memory")
    func careful() throws {
        let subject = try Subject("threads", "5")
        let isFirst = Mutex(true)
        let copiers = try ThreadCopiers { _ in
            isFirst.withLock { first in
                defer { first = false }
                return first ? .lateness : .bytes
            }
        }
        for _ in 0..<2 {
            let options = SnapshotOptions.patient()
            let contents = try take(of: subject.process, options, by: copiers.copiers).get().contents()
            expectMarkers(subject, in: contents)
            #expect(contents.threads.count == 5)
        }
        #expect(copiers.copiers.lostCount == 1)
    }

    @Test("is complete except for memory, and ends with the kill, if nobody reads")
    func nobody() throws {
        let subject = try Subject("threads", "5")
        let copiers = try ThreadCopiers(patience: .milliseconds(10)) { _ in .silence }
        let snapshot = try take(of: subject.process, .patient(ending: .kill()), by: copiers.copiers).get()
        #expect(snapshot.end == .killed && snapshot.threadCount == 5)
        #expect(try subject.reap() == 9)
        let contents = try snapshot.contents()
        #expect(contents.threads.allSatisfy { $0.registerSource == .ptrace && $0.stack == nil })
        #expect(contents.process.truncation?.contains("did not answer") == true)
    }

    @Test("A snapshot of a process that nobody may read any more is rejected; one of another user's app is not")
    func refusal() throws {
        let subject = try Subject("threads", "2")
        let isSilent = Mutex(true)
        let copiers = try ThreadCopiers { _ in isSilent.withLock { $0 } ? .lateness : .bytes }
        _ = try take(of: subject.process, .patient(), by: copiers.copiers)
        isSilent.withLock { $0 = false }
        let thread = try CaptureThread(copiers: copiers.copiers)
        let results = Mutex<[Result<Snapshot, SnapshotError>]>([])
        func capture(_ tenant: Tenant) -> CaptureRefusal? {
            thread.capture(subject.process, of: tenant, .patient()) { result in
                results.withLock { $0.append(result) }
            }
        }
        let refusal = try #require(capture(Self.tenant))
        #expect("\(refusal)" == "2 earlier captures of this app have not returned")
        #expect(thread.refusal(of: Self.tenant, at: .now()) == refusal && thread.droppedCount == 1)
        let other = Tenant(app: "app", user: 2)
        #expect(capture(other) == nil)
        try eventually("the capture") { results.withLock { !$0.isEmpty } }
        let contents = try results.withLock { $0 }[0].get().contents()
        expectMarkers(subject, in: contents)
        #expect(thread.shutDown(within: patience))
    }
}
