// SPDX-License-Identifier: Apache-2.0

import ReportFixtures
import Testing
import WatchdogBase

@testable import WatchdogReport
@testable import WatchdogVerdict

@Suite("Waits as text")
struct WaitTextTests {
    private static let futex = "202 0x7f10 0x80 0x2 0x0 0x0 0x0 0x7ffd 0x7f00"

    private func wait(
        _ thread: Int, _ name: String, for subject: String? = "mutex", heldBy holder: WaitDetails.Holder? = nil,
        call: String = futex, isDeadlocked: Bool = false
    ) -> WaitDetails {
        WaitDetails(
            process: 101, thread: thread, name: name, syscall: call, subject: subject, holder: holder,
            isDeadlocked: isDeadlocked, sources: ["/proc/101/task/\(thread)/syscall"])
    }

    private func thread(_ id: Int, _ name: String) -> WaitDetails.Holder {
        .init(relation: .holds, process: 101, thread: id, name: name, state: "S")
    }

    @Test("A deadlock is named, in the verdict and with both threads' numbers below")
    func deadlock() throws {
        let waits = [
            wait(101, "main", heldBy: thread(117, "indexer"), isDeadlocked: true),
            wait(117, "indexer", heldBy: thread(101, "main"), isDeadlocked: true),
        ]
        let text = WaitText(waits)
        #expect(
            text.subject
                == "mutex held by thread 117 \"indexer\", which waits for a mutex held by this thread: deadlock")
        #expect(
            text.lines { [101: 0, 117: 2][$0] } == [
                "Waits: thread 101 \"main\" (Thread 0) in futex: mutex held by thread 117 \"indexer\" (Thread 2)",
                "Waits: thread 117 \"indexer\" (Thread 2) in futex: mutex held by thread 101 \"main\" (Thread 0)",
                "Waits: deadlock: thread 101 \"main\" waits for a mutex held by thread 117 \"indexer\", "
                    + "which waits for a mutex held by thread 101 \"main\"",
            ])
    }

    @Test("A slow holder is not a deadlock")
    func longLock() {
        let waits = [
            wait(101, "main", heldBy: thread(117, "indexer")),
            wait(117, "indexer", for: nil, call: "35 0x7f10 0x0 0x0 0x0 0x0 0x0 0x7ffd 0x7f00"),
        ]
        #expect(WaitText(waits).subject == "mutex held by thread 117 \"indexer\", which is in nanosleep")
        let running = [waits[0], wait(117, "indexer", for: nil, call: "running")]
        #expect(WaitText(running).subject == "mutex held by thread 117 \"indexer\", which runs")
    }

    @Test("A file lock, a child and a thread's exit are described")
    func others() {
        let lock = WaitDetails.Holder(relation: .locks, process: 812, name: "HangMain", state: "S")
        #expect(
            WaitText([wait(101, "main", for: "fd 8: /x/catalog", heldBy: lock)]).subject
                == "fd 8: /x/catalog, locked by pid 812 \"HangMain\"")
        let opening = wait(
            101, "main", for: "/x/catalog", heldBy: lock, call: "257 0xffffff9c 0x7f 0x2 0x0 0x0 0x0 0x7ffd 0x7f00")
        #expect(WaitText([opening]).subject == "/x/catalog, leased by pid 812 \"HangMain\"")
        let child = WaitDetails.Holder(relation: .child, process: 912, name: "sleep", state: "S")
        #expect(
            WaitText([wait(101, "main", for: "child", heldBy: child)]).subject == "child 912 \"sleep\", sleeping")
        let end = WaitDetails.Holder(relation: .ends, process: 101, thread: 117, name: "indexer", state: "S")
        #expect(
            WaitText([wait(101, "main", for: "x", heldBy: end)]).subject == "the end of thread 117 \"indexer\"")
        #expect(WaitText([]).subject == nil)
        #expect(WaitText([wait(101, "main", for: nil)]).subject == nil)
        #expect(WaitText([wait(101, "main", for: "fd 7: pipe")]).lines { _ in nil } == [])
    }

    @Test("A stopped holder is described as stopped, not by its pending call")
    func stoppedHolder() {
        let stopped = WaitDetails.Holder(relation: .holds, process: 101, thread: 117, name: "indexer", state: "T")
        let waits = [wait(101, "main", heldBy: stopped), wait(117, "indexer", for: nil)]
        #expect(WaitText(waits).subject == "mutex held by thread 117 \"indexer\", which is stopped")
        let other = WaitDetails.Holder(relation: .holds, process: 812, thread: 812, name: "peer", state: "S")
        #expect(WaitText([wait(101, "main", heldBy: other)]).subject == "mutex held by pid 812 \"peer\"")
        let lock = WaitDetails.Holder(relation: .locks, process: 812, name: "peer", state: "T")
        #expect(
            WaitText([wait(101, "main", for: "fd 8: /x", heldBy: lock), wait(812, "peer", for: nil)]).subject
                == "fd 8: /x, locked by pid 812 \"peer\", which is stopped")
    }

    @Test("A chain that is too long ends where it still fits")
    func shortenedChain() {
        let chain = [
            wait(101, "main", heldBy: thread(117, "a")), wait(117, "a", heldBy: thread(118, "b")),
            wait(118, "b", for: "fd 3: /a/file", call: "0 0x3 0x0 0x0 0x0 0x0 0x0 0x7ffd 0x7f00"),
        ]
        #expect(
            WaitText(chain).subject
                == "mutex held by thread 117 \"a\", which waits for a mutex held by thread 118 \"b\"")
    }

    @Test("A long chain leaves the verdict short and is printed line by line")
    func longChain() throws {
        let chain = [
            wait(101, "main", heldBy: thread(117, "a-long-name-117")),
            wait(117, "a-long-name-117", heldBy: thread(118, "a-long-name-118")),
            wait(118, "a-long-name-118", heldBy: thread(119, "a-long-name-119")),
            wait(119, "a-long-name-119", for: "fd 3: /a/file", call: "0 0x3 0x0 0x0 0x0 0x0 0x0 0x7ffd 0x7f00"),
        ]
        #expect(WaitText(chain).subject == "mutex held by thread 117 \"a-long-name-117\"")
        #expect(WaitText(chain).lines { _ in nil }.count == 4)
        let path = "fd 3: /" + String(repeating: "deep/", count: 60)
        let subject = try #require(WaitText([wait(101, "main", for: path)]).subject)
        #expect(subject.count <= 100 && subject.hasSuffix("..."))
        #expect(WaitText([wait(101, "main", for: path)]).lines { _ in nil }.first?.contains(path) == true)
    }

    @Test("A report shows waits in its verdict, its lines, its evidence and its JSON, and preserves them")
    func report() throws {
        var evidence = Samples.blocked
        evidence.waits = [
            wait(
                4242, "bad\u{1b}[2Jname", for: "fd 7: TCP 127.0.0.1:1 → 127.0.0.1:2\nfake: line",
                call: evidence.syscall ?? "")
        ]
        let report = Report(of: Samples.facts(evidence: evidence), on: Samples.host, capture: Samples.capture)
        let linux = try #require(report.body.linux)
        #expect(linux.verdict.line.contains("in recvfrom (fd 7: TCP 127.0.0.1:1 → 127.0.0.1:2\\x0afake: line) · "))
        #expect(linux.waits?.first?.name == "bad\\x1b[2Jname")
        let statement = linux.evidence.first { $0.what == "subject of the system call" }
        #expect(statement?.source == "/proc/101/task/4242/syscall")
        #expect(try ReportCoding.decode(ReportCoding.encode(report)).body.linux?.waits == linux.waits)
    }

    @Test("A report without waits has none in its JSON")
    func noWaits() throws {
        let report = Report(of: Samples.facts(), on: Samples.host, capture: Samples.capture)
        #expect(report.body.linux?.waits == nil)
    }

    @Test("The verdict shows a connection if not all of several files fit")
    func several() {
        let connection = "6 (TCP 127.0.0.1:51234 → 127.0.0.1:8080, ESTABLISHED, nothing to read)"
        let long = "fd 4: epoll of 4 fds: 5 (eventfd), \(connection), 7 (pipe, other end in this process), …"
        let text = WaitText([wait(101, "main", for: long)])
        #expect(text.subject == "fd 4: epoll of 4 fds: \(connection), …")
        #expect(text.whole == long)
        #expect(text.lines { _ in nil } == ["Waits: thread 101 \"main\" in futex: \(long)"])
        let short = "2 fds: 5 (eventfd), 6 (eventfd)"
        #expect(WaitText([wait(101, "main", for: short)]).subject == short)
        let odd = "2 fds: 5 (eventfd, " + String(repeating: "x", count: 100)
        #expect(WaitText([wait(101, "main", for: odd)]).subject == odd.singleLine(limit: WaitText.longestSubject))
    }

    @Test("A child's signal and its pidfd are named with the child")
    func children() {
        let any = WaitDetails.Holder(relation: .anyChild, process: 9, name: "sleep", state: "S")
        let child = WaitDetails.Holder(relation: .child, process: 9, name: "sleep", state: "T")
        #expect(
            WaitText([wait(101, "main", for: "SIGCHLD", heldBy: any)]).subject
                == "a signal, such as SIGCHLD from 9 \"sleep\", sleeping")
        #expect(
            WaitText([wait(101, "main", for: "fd 3: signalfd", heldBy: any)]).subject
                == "fd 3: signalfd, such as SIGCHLD from 9 \"sleep\", sleeping")
        #expect(
            WaitText([wait(101, "main", for: "fd 3: pidfd of pid 9 \"sleep\", which is stopped", heldBy: child)])
                .subject
                == "fd 3: pidfd of pid 9 \"sleep\", which is stopped")
    }
}
