// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogLinux
import WatchdogVerdict

@testable import WatchdogCapture

@Suite("The symbolicator", .reapsChildren)
struct SymbolicatorTests {
    private func snapshot() throws -> Snapshot {
        let subject = try Subject("read")
        return try Snapshot.take(of: subject.process, .patient)
    }

    /// The supervisor's limits, except for the time that a busy machine takes.
    private static let limits: Symbolicator.Limits = {
        var limits = Symbolicator.Limits()
        limits.budget = patience
        return limits
    }()

    private func symbolicator(
        _ body: String, _ change: (inout Symbolicator.Limits) -> Void = { _ in }
    ) throws
        -> Symbolicator
    {
        var limits = Self.limits
        change(&limits)
        return Symbolicator(program: try Compiler.shared.executable(StubSource.running(body)), limits: limits)
    }

    private func error(_ symbolicator: Symbolicator) throws -> SymbolicationError? {
        let snapshot = try snapshot()
        do throws(SymbolicationError) {
            _ = try symbolicator.run(snapshot)
            return nil
        } catch {
            return error
        }
    }

    /// The error of a program that writes a message and never ends.
    private func overBudget(_ body: String) throws -> SymbolicationError {
        var budget = Duration.milliseconds(500)
        while true {
            let error = try #require(try error(try symbolicator(body) { $0.budget = budget }))
            guard error.code == .overBudget, error.message.isEmpty, budget < patience else { return error }
            // It got no CPU to begin with.
            budget = budget * 2
        }
    }

    /// Notes of the form KEY=VALUE.
    private func facts(_ captured: CapturedProcess) -> [String: String] {
        Dictionary(
            captured.notes.map { note in
                let parts = note.split(separator: "=", maxSplits: 1).map(String.init)
                return (parts[0], parts.count > 1 ? parts[1] : "")
            },
            uniquingKeysWith: { first, _ in first }
        )
    }

    @Test("passes the program the snapshot, the files, and nothing else")
    func surroundings() throws {
        let snapshot = try snapshot()
        let program = try Compiler.shared.executable(StubSource.inspects)
        let symbolicator = Symbolicator(program: program, limits: Self.limits)
        for _ in 0..<2 {
            let captured = try symbolicator.run(snapshot)
            let facts = facts(captured)
            #expect(facts["arguments"] == "watchdogd-symbolicate --budget 3000ms ")
            #expect(facts["variables"] == "0")
            #expect(facts["input"] == "/dev/null")
            #expect(facts["snapshot"] == "1")
            #expect(facts["modules"] == "\(snapshot.modules.count)")
            #expect(facts["descriptors"] == "\(4 + snapshot.modules.count)")
            #expect(facts["privileges"] == "1")
            #expect(facts["leader"] == "1")
            #expect(facts["FSIZE"] == "0" && facts["CORE"] == "0" && facts["CPU"] == "11")
            #expect(facts["DATA"].flatMap(UInt64.init).map { $0 <= 2 << 30 } == true)
            #expect(facts["AS"].flatMap(UInt64.init).map { $0 <= 16 << 30 } == true)
            if geteuid() == 0 {
                let user = try #require(facts["uid"].flatMap { UInt32($0) })
                #expect(ReservedUser.range.contains(user) && facts["gid"] == "\(user)" && facts["groups"] == "0")
            } else {
                #expect(facts["uid"] == "\(getuid())")
            }
            // The answer does not override what the snapshot itself contains.
            #expect(captured.method == .ptrace)
            #expect(captured.frozenNanoseconds > 1)
        }
    }

    @Test("runs a program in a directory that nobody may enter")
    func privateDirectory() throws {
        let directory = try temporaryDirectory()
        let program = directory + "/subject"
        try copyFile(try Compiler.shared.executable(StubSource.inspects), to: program)
        #expect(chmod(directory, 0o700) == 0)
        let captured = try Symbolicator(program: program, limits: Self.limits).run(try snapshot())
        let user = try #require(facts(captured)["uid"].flatMap { UInt32($0) })
        #expect(geteuid() == 0 ? ReservedUser.range.contains(user) : user == getuid())
    }

    @Test("runs the program as a user that no other process has", .enabled(if: geteuid() == 0))
    func user() throws {
        let id: UInt32 = ReservedUser.range.upperBound
        let other = try Subject("/usr/bin/setpriv", ["--reuid=\(id)", "--clear-groups", "/bin/cat"])
        try eventually("another process of the user") {
            textOfFile("/proc/\(other.process)/status")?.contains("Uid:\t\(id)") == true
        }
        #expect(ReservedUser(reserving: id) == nil)
        kill(other.process, SIGKILL)
        other.leaveReaping()
        waitpid(other.process, nil, 0)
        try eventually("its end") { ReservedUser(reserving: id) != nil }
        let users = (0..<8).compactMap { _ in ReservedUser.reserved() }
        #expect(users.count == 8 && users.allSatisfy { ReservedUser.range.contains($0.credentials.user) })
        #expect(Set(users.map(\.credentials.user)).count > 1)
    }

    @Test("limits the processes of a dedicated user, but not of an ordinary user, who may have many")
    func processes() throws {
        let symbolicator = Symbolicator(program: "/bin/true")
        func limit(_ user: ReservedUser?) -> UInt64? {
            symbolicator.resourceLimits(descriptors: 4, of: user).first { $0.resource == .processes }?.soft
        }
        #expect(limit(nil) == nil)
        if let user = ReservedUser.reserved() {
            #expect(limit(user).map { $0 <= 64 } == (user.isExclusive ? true : nil))
        }
    }

    @Test("runs the program of its own release after an upgrade")
    func upgraded() throws {
        let program = try temporaryDirectory() + "/subject"
        try copyFile(try Compiler.shared.executable(StubSource.inspects), to: program)
        let symbolicator = Symbolicator(program: program, limits: Self.limits)
        unlink(program)
        #expect(facts(try symbolicator.run(try snapshot()))["end"] == "")
        try copyFile(try Compiler.shared.executable(StubSource.running("abort();")), to: program)
        #expect(facts(try symbolicator.run(try snapshot()))["end"] == "")
    }

    @Test("reports how the program failed")
    func failures() throws {
        let exited = try #require(try error(try symbolicator(#"fprintf(stderr, "no\n\033[1mluck\n"); return 3;"#)))
        #expect(exited.code == .failed)
        #expect(exited.description == "No symbols: watchdogd-symbolicate exited with code 3: no [1mluck")
        let crashed = try #require(try error(try symbolicator("raise(SIGSEGV);")))
        #expect(crashed.code == .failed)
        #expect(crashed.description == "No symbols: watchdogd-symbolicate was ended by signal 11.")
        let silent = try #require(try error(try symbolicator("")))
        #expect(silent.code == .malformedAnswer)
        let missing = try #require(try error(Symbolicator(program: "/nonexistent")))
        #expect(missing.code == .notFound)
        let directory = try #require(try error(Symbolicator(program: "/tmp", limits: Self.limits)))
        #expect(directory.code == .notStarted)
    }

    @Test("kills the program with its children when its time is up")
    func overBudget() throws {
        let error = try overBudget(#"pid_t child = fork(); if (child > 0) fprintf(stderr, "%d", child); pause();"#)
        #expect(error.code == .overBudget)
        let child = try #require(Int32(error.message))
        try eventually("the end of what it started") {
            guard let text = textOfFile("/proc/\(child)/stat") else { return true }
            return text.contains(") Z ") || text.contains(") X ")
        }
    }

    @Test("does not wait for the program's leftovers")
    func leftBehind() throws {
        // A leftover keeps the output open and never exits: waiting for it would use up the time.
        let body = #"""
            pid_t child = fork();
            if (child == 0) {
                setsid();
                pause();
            }
            while (getsid(child) != child) usleep(1000);
            fprintf(stderr, "%d", child);
            exit(4);
            """#
        let error = try #require(try error(try symbolicator(body)))
        if let child = Int32(error.message) { kill(child, SIGKILL) }
        #expect(error.code == .failed)
        #expect(error.detail == "exited with code 4")
    }

    @Test("kills the program when it uses too much CPU time")
    func cpuTime() throws {
        let error = try #require(try error(try symbolicator("for (;;) ;") { $0.cpuSeconds = 1 }))
        #expect(error.code == .overBudget)
        #expect(error.detail == "used 1 s of CPU time")
    }

    @Test("limits the program's memory")
    func memory() throws {
        let body = #"""
            size_t size = 0;
            for (char *block; (block = malloc(1 << 20)) != NULL; size++) memset(block, 1, 1 << 20);
            return size > 32 && size <= 64 ? 7 : 8;
            """#
        let error = try #require(try error(try symbolicator(body) { $0.memory = 64 << 20 }))
        #expect(error.code == .failed)
        #expect(error.detail == "exited with code 7")
    }

    /// Uses memory in a way that no compiler optimizes away.
    private static func use(mebibytes: Int) -> String {
        """
        {
            const size_t size = (size_t)\(mebibytes) << 20;
            volatile char *memory = malloc(size);
            for (size_t i = 0; memory && i < size; i += 1024)
                memory[i] = 1;
        }
        """
    }

    @Test(
        "limits the total memory of all its processes, and reports that",
        .enabled(if: (try? MemoryGroup(name: "watchdogd-test", limit: 64 << 20)) != nil, "no memory cgroup here"))
    func groupMemory() throws {
        let alone = try #require(
            try error(try symbolicator("\(Self.use(mebibytes: 96)) return 6;") { $0.groupMemory = 64 << 20 }))
        #expect(alone.code == .overBudget)
        #expect(alone.detail == "used more than 64 MiB of memory")
        // Each is within its own limits.
        let body = """
            for (int i = 0; i < 7; i++)
                if (fork() == 0) {
                    \(Self.use(mebibytes: 16))
                    pause();
                }
            extern int wait(int *);
            int status;
            wait(&status);
            return (status & 0x7f) == SIGKILL ? 4 : 5;
            """
        let together = try #require(try error(try symbolicator(body) { $0.groupMemory = 64 << 20 }))
        #expect(together.detail == "exited with code 4")
    }

    @Test("may use a quarter of the machine's memory, within bounds")
    func groupLimit() {
        let limit = Symbolicator.Limits.groupMemory(ofMachine:)
        #expect(limit(0) == 256 << 20 && limit(512 << 20) == 256 << 20)
        #expect(limit(4 << 30) == 1 << 30 && limit(64 << 30) == 2 << 30)
    }

    @Test("kills the program when it writes too much")
    func tooMuchOutput() throws {
        let body = #"for (;;) if (write(1, "0123456789abcdef", 16) < 0) return 0;"#
        let error = try #require(try error(try symbolicator(body) { $0.answer = 1 << 20 }))
        #expect(error.code == .tooMuchOutput)
    }

    @Test("checks its time between reads, even if the output never ends")
    func endless() throws {
        let zero = open("/dev/zero", O_RDONLY | O_CLOEXEC)
        let end = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { for descriptor in [zero, end] { close(descriptor) } }
        var collected = Collected(outputLimit: 128 << 10, messageLimit: 4_096)
        #expect(collected.read(end, zero) == .something)
        #expect(!collected.isOutputOpen && collected.areMessagesOpen)
        var output = Collected(outputLimit: 128 << 10, messageLimit: 4_096)
        #expect(output.read(zero, end) == .something)
        #expect(output.read(zero, end) == .something, "as much as is allowed")
        #expect(output.output.count == 128 << 10)
        #expect(output.read(zero, end) == .tooMuch)
        var nothing = Collected(outputLimit: 1, messageLimit: 1)
        #expect(nothing.read(end, end) == .nothing)
    }

    @Test("kills a program that writes messages endlessly when its time is up, but not one that exits just before")
    func endlessMessages() throws {
        let body = #"for (int i = 0; i < 4; i++) if (fork() == 0) for (;;) write(2, "0123456789abcdef", 16); pause();"#
        let error = try overBudget(body)
        #expect(error.code == .overBudget)
        let short = try #require(try self.error(try symbolicator(#"fprintf(stderr, "x"); return 5;"#)))
        #expect(short.detail == "exited with code 5" && short.message == "x")
    }

    @Test("keeps only the end of a long message")
    func longMessage() throws {
        let body = #"for (int i = 0; i < 100000; i++) fprintf(stderr, "line %d\n", i); return 1;"#
        let error = try #require(try error(try symbolicator(body)))
        #expect(error.code == .failed)
        #expect(error.message.utf8.count <= 4096)
        #expect(error.message.hasSuffix("line 99999"))
    }

    @Test(
        "rejects answers that are not captures",
        arguments: [
            "", "{", "null", "[]", "{\"method\":\"ptrace\"}",
            Self.answer(threads: Self.thread(frames: Self.frame(image: 1))),
            Self.answer(threads: Self.thread(frames: Self.frame(image: -1))),
            Self.answer(threads: Self.thread(frames: Self.frame(more: #","symbol":"f""#))),
            Self.answer(threads: Self.thread(frames: Self.frame(more: #","sourceLine":0"#))),
            Self.answer(threads: Self.thread(state: "")), Self.answer(threads: Self.thread(state: "SS")),
            Self.answer(threads: Self.thread() + "," + Self.thread()),
            Self.answer(images: Self.image(base: .max, size: 1)),
            Self.answer(notes: String(repeating: "\"x\",", count: 1024) + "\"x\""),
            String(repeating: "[", count: 100_000),
        ]
    )
    func malformed(answer: String) throws {
        let snapshot = try snapshot()
        let error = #expect(throws: SymbolicationError.self) {
            try CapturedProcess(answer: Array(answer.utf8), of: snapshot)
        }
        #expect(error?.code == .malformedAnswer)
    }

    @Test("accepts a well-formed answer")
    func wellFormed() throws {
        let frame = Self.frame(more: #","symbol":"f","symbolLocation":4,"sourceFile":"f.c","sourceLine":7"#)
        let answer = Self.answer(threads: Self.thread(frames: frame))
        let captured = try CapturedProcess(answer: Array(answer.utf8), of: try snapshot())
        #expect(captured.threads[0].frames[0].symbol == "f")
        #expect(captured.threads[0].registers["rip"] == .max)
    }

    @Test("falls back to the snapshot alone, and notes the reason")
    func fallback() throws {
        let captured = Symbolicator(program: "/nonexistent").symbolicate(try snapshot())
        #expect(captured.notes == ["No symbols: watchdogd-symbolicate was not found."])
        #expect(captured.threads.count == 1)
        #expect(captured.threads[0].frames.count > 1)
        #expect(captured.shortage == nil, "another try would not find it either")
    }

    @Test("reports that another attempt may succeed after a failure of the program")
    func failure() throws {
        let captured = Symbolicator(program: "/bin/false", limits: Self.limits).symbolicate(try snapshot())
        #expect(captured.shortage == "No symbols: watchdogd-symbolicate exited with code 1.")
        #expect(captured.notes == [captured.shortage])
    }

    // MARK: Answers

    private static func answer(threads: String = "", images: String = image(), notes: String = "") -> String {
        #"{"method":"ptrace","frozenNanoseconds":5,"threads":[\#(threads)],"images":[\#(images)],"notes":[\#(notes)]}"#
    }

    private static func image(base: UInt64 = 4096, size: UInt64 = 4096) -> String {
        #"{"base":\#(base),"size":\#(size),"path":"/a","name":"a","architecture":"x86_64"}"#
    }

    private static func thread(state: String = "S", frames: String = "") -> String {
        #"{"id":1,"name":"a","state":"\#(state)","kernelStack":[],"runNanoseconds":0,"runDelayNanoseconds":0,"#
            + #""voluntarySwitches":0,"involuntarySwitches":0,"registers":{"rip":18446744073709551615},"#
            + #""frames":[\#(frames)],"asynchronousFrames":[]}"#
    }

    private static func frame(image: Int = 0, more: String = "") -> String {
        #"{"address":4100,"imageIndex":\#(image),"imageOffset":4,"isInlined":false,"trust":"cfi"\#(more)}"#
    }
}
