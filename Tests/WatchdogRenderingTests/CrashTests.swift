// SPDX-License-Identifier: Apache-2.0

import ReportFixtures
import Testing
import WatchdogBase
import WatchdogPolicy

@testable import WatchdogRendering
@testable import WatchdogReport
@testable import WatchdogVerdict

@Suite("Crashes in reports")
struct CrashTests {
    private func line(_ crash: CrashDetails, capture: CapturedProcess? = nil) -> String {
        Crashes.report(crash, capture: capture).body.linux?.verdict.line ?? ""
    }

    private func signal(
        _ number: Int32, code: Int, union: UInt64 = 0, cause: Outcome.Cause = .exited
    ) -> CrashDetails {
        var crash = Crashes.details(.signaled(signal: number, coreDumped: true), cause: cause)
        crash.note(SignalInfo(signal: Int(number), code: code, union: union))
        return crash
    }

    @Test("The first line states the event, the place and the thread")
    func verdict() {
        #expect(
            line(Crashes.segmentation, capture: Crashes.capture(.core))
                == "Crashed: SIGSEGV at 0x18 (where no memory is mapped) in __memmove_avx_unaligned_erms, from "
                + "parse_header (parse.c:12), on thread 4243")
        #expect(line(Crashes.segmentation) == "Crashed: SIGSEGV at 0x18 (where no memory is mapped)")
        // The functions that abort() calls are not a useful place.
        #expect(
            line(Crashes.abort, capture: Crashes.capture(.journal))
                == "Crashed: SIGABRT in Socket.receive() (Socket.swift:41)")
        var stripped = Crashes.capture(.core)
        stripped.threads[0].frames.remove(at: 1)
        stripped.threads[0].frames[1].symbol = nil
        stripped.threads[0].frames[1].symbolLocation = nil
        stripped.threads[0].frames[1].sourceFile = nil
        #expect(line(Crashes.abort, capture: stripped) == "Crashed: SIGABRT in recv, from hang-main + 0x1234")
        var trap = signal(4, code: 2, union: 0x7f2a_9cf0_f2ad)
        trap.thread = 4_242
        #expect(line(trap, capture: Crashes.capture(.core)) == "Crashed: SIGILL in Socket.receive() (Socket.swift:41)")
        #expect(line(Crashes.memory) == "Killed by the kernel because memory was short (SIGKILL)")
        #expect(line(Crashes.exit) == "Exited unexpectedly with code 3")
    }

    /// A thread that calls `functions` repeatedly, innermost first, with its stack pointer.
    private func recursing(_ functions: [String], stackPointer: UInt64) -> CapturedProcess {
        var capture = Crashes.capture(.core)
        let last = capture.threads[1].frames[capture.threads[1].frames.count - 1]
        capture.threads[1].registers["rsp"] = stackPointer
        capture.threads[1].frames = (0..<40).map { number in
            var frame = last
            frame.symbol = functions[number % functions.count]
            return frame
        }
        return capture
    }

    @Test("A failed access near the stack pointer is a stack overflow; one farther away is not")
    func overflow() {
        var crash = signal(11, code: 1, union: 0x7f00_0010_0000)
        crash.thread = 4_243
        func line(_ functions: [String], _ distance: Int64) -> String {
            let pointer = UInt64(bitPattern: 0x7f00_0010_0000 - distance)
            return self.line(crash, capture: recursing(functions, stackPointer: pointer))
        }
        let alone =
            "Crashed: stack overflow in visit (parse.c:12), which calls itself, on thread 4243 (SIGSEGV at 0x7f0000100000)"
        #expect(line(["visit"], -8) == alone)
        #expect(line(["visit"], -65_536) == alone)
        #expect(line(["visit"], 4095) == alone)
        #expect(line(["visit"], -65_537).hasPrefix("Crashed: SIGSEGV at 0x7f0000100000 (where no memory is mapped)"))
        #expect(line(["visit"], 4096).hasPrefix("Crashed: SIGSEGV at 0x7f0000100000 (where no memory is mapped)"))
        #expect(
            line(["open", "visit", "leave"], -8)
                == "Crashed: stack overflow in open (parse.c:12), which recurses through visit, leave, on thread 4243 "
                + "(SIGSEGV at 0x7f0000100000)")
        var whole = recursing(["open", "visit"], stackPointer: 0x7f00_0010_0008)
        if let thread = whole.threads.firstIndex(where: { $0.id == 4_243 }),
            var last = whole.threads[thread].frames.last
        {
            (last.symbol, last.trust) = ("load", .outerEnd)
            whole.threads[thread].frames.append(last)
        }
        #expect(
            self.line(crash, capture: whole)
                == "Crashed: stack overflow in open (parse.c:12), which recurses through visit, begun by load (parse.c:12), "
                + "on thread 4243 (SIGSEGV at 0x7f0000100000)")
        let text = TextRenderer.render(Crashes.report(crash, capture: whole))
        #expect(text.contains("\n...  the calls between are left out\n"))
        let report = Crashes.report(crash, capture: recursing(["visit"], stackPointer: 0x7f00_0010_0008))
        #expect(Blame(for: report).reason == "its own calls used up the stack")
        #expect(Explanation(of: report).advice.contains("Bound the recursion"))
    }

    @Test("The sender of a signal is named, and a raised signal is distinguished")
    func sender() {
        let other = signal(11, code: 0, union: 77 | 1_000 << 32)
        #expect(line(other) == "Killed by pid 77 of user 1000, which sent SIGSEGV")
        #expect(other.senderPID == 77 && other.senderUserID == 1_000 && other.address == nil)
        let own = signal(11, code: -6, union: 4_242)
        #expect(line(own) == "Crashed: SIGSEGV")
        let stranger = Crashes.details(.signaled(signal: 9, coreDumped: false))
        #expect(line(stranger) == "Killed by SIGKILL, which watchdogd did not send")
        #expect(Blame(for: Crashes.report(stranger, capture: nil)).party == .somebodyElse)
        #expect(Blame(for: Crashes.report(own, capture: nil)).party == .app)
        #expect(Blame(for: Crashes.report(Crashes.memory, capture: nil)).party == .machine)
    }

    @Test("A sender without a number here is outside the pid namespace, not pid 0")
    func senderOutside() throws {
        let report = Crashes.report(signal(11, code: 0), capture: nil)
        #expect(
            report.body.linux?.verdict.line == "Killed by a process outside its pid namespace, which sent SIGSEGV")
        #expect(report.body.linux?.verdict.brief == "SIGSEGV from outside")
        #expect(Blame(for: report).party == .somebodyElse)
        let lines = try #require(report.body.applicationSpecificInformation?["watchdogd"])
        #expect(lines.contains("Sender: a process outside its pid namespace"))
        #expect(report.body.termination?.byPid == nil)
        #expect(!TextRenderer.render(report).contains("pid 0"))
    }

    @Test(
        "A signal's name is followed by its number, unless the name is the number",
        arguments: [
            (11, "Segmentation fault: 11"), (16, "SIGSTKFLT: 16"), (31, "Bad system call: 31"), (32, "signal 32"),
            (34, "signal 34"),
        ])
    func indicator(signal: Int, text: String) {
        #expect(SignalText.indicator(signal) == text)
    }

    @Test("An earlier memory shortage is not the cause; without a recent sample it is a possible one")
    func earlierMemoryKills() {
        var crash = Crashes.memory
        crash.memoryKills = 2
        for (recent, party) in [(0, .somebodyElse), (1, .machine), (2, .machine), (nil, .unknown)]
            as [(Int?, Blame.Party)]
        {
            crash.recentMemoryKills = recent
            let report = Crashes.report(crash, capture: nil)
            #expect(Blame(for: report).party == party)
            #expect(line(crash).hasPrefix("Killed by the kernel because") == (party == .machine))
            #expect(Explanation(of: report).advice.contains("memory.max") == (party == .machine))
        }
        #expect(line(crash) == "Killed by SIGKILL, perhaps by the kernel: memory has been short since the launch")
        crash.recentMemoryKills = 0
        #expect(line(crash) == "Killed by SIGKILL, which watchdogd did not send")
        let lines = Crashes.report(crash, capture: nil).body.applicationSpecificInformation?["watchdogd"] ?? []
        #expect(
            lines.contains(
                "Memory: the kernel has killed 2 processes of its cgroup because memory was short, none of them lately")
        )
    }

    @Test("An address that the kernel made up is not reported")
    func nonCanonical() {
        let crash = signal(11, code: 0x80)
        #expect(crash.codeName == "SI_KERNEL" && crash.address == nil)
        #expect(line(crash) == "Crashed: SIGSEGV at an address that no memory can have")
    }

    @Test("Exit codes that shells derive from signals are explained; others are not")
    func shellCodes() {
        #expect(
            line(Crashes.details(.exited(code: 139)))
                == "Exited unexpectedly with code 139, as if SIGSEGV had ended it")
        #expect(line(Crashes.details(.exited(code: 128))) == "Exited unexpectedly with code 128")
    }

    @Test("A crash during the exit mentions that the app was exiting")
    func ending() {
        let crash = signal(11, code: 1, union: 0x10, cause: .terminated)
        #expect(line(crash) == "Crashed: SIGSEGV at 0x10 (where no memory is mapped), while it was ending")
    }

    @Test(
        "Exceptions have Apple's names",
        arguments: [
            (11, 1, "EXC_BAD_ACCESS", [1, 0x18], "KERN_INVALID_ADDRESS at 0x0000000000000018"),
            (11, 2, "EXC_BAD_ACCESS", [2, 0x18], "KERN_PROTECTION_FAILURE at 0x0000000000000018"),
            (7, 2, "EXC_BAD_ACCESS", [1, 0x18], "KERN_INVALID_ADDRESS at 0x0000000000000018"),
            (4, 2, "EXC_BAD_INSTRUCTION", [1, 0x18], nil), (5, 1, "EXC_BREAKPOINT", [1, 0x18], nil),
            (8, 1, "EXC_ARITHMETIC", [1, 0x18], nil), (6, -6, "EXC_CRASH", [0, 0], nil),
            (11, 0, "EXC_CRASH", [0, 0], nil), (31, 1, "EXC_CRASH", [0, 0], nil),
        ] as [(Int32, Int, String, [UInt64], String?)])
    func exception(number: Int32, code: Int, type: String, codes: [UInt64], subtype: String?) {
        let exception = ExceptionInfo(signal(number, code: code, union: 0x18))
        #expect(exception.type == type)
        #expect(exception.rawCodes == codes)
        #expect(exception.subtype == subtype)
        #expect(exception.signal == SignalName.of(Int(number)))
    }

    @Test("The termination names the signal and its sender in Apple's words")
    func termination() throws {
        let fault = try #require(Crashes.report(Crashes.segmentation, capture: nil).body.termination)
        #expect(fault.namespace == "SIGNAL" && fault.code == 11)
        #expect(fault.indicator == "Segmentation fault: 11" && fault.byProc == "exc handler" && fault.byPid == 4_242)
        let exit = try #require(Crashes.report(Crashes.exit, capture: nil).body.termination)
        #expect(exit.namespace == "EXIT" && exit.code == 3 && exit.indicator == "exit code 3")
        let text = TextRenderer.render(Crashes.report(Crashes.segmentation, capture: Crashes.capture(.core)))
        #expect(text.contains("\nException Type:  EXC_BAD_ACCESS (SIGSEGV)\n"))
        #expect(text.contains("\nTermination Reason: SIGNAL 11 Segmentation fault: 11\n"))
        #expect(text.contains("\nTriggered by Thread:  1\n") && text.contains("\nThread 1 Crashed:\n"))
        #expect(text.contains("\nStacks: from the core file /srv/photos/core.4242\n"))
        #expect(!text.contains("SIMULATED"))
    }

    @Test("A crash is explained without an allowance, and missing stacks come with a remedy")
    func explanation() {
        let core = Explanation(of: Crashes.report(Crashes.segmentation, capture: Crashes.capture(.core)))
        #expect(core.allowance == nil)
        #expect(core.event == "crash")
        #expect(core.calls.first?.function == "parse_header")
        #expect(core.advice.hasPrefix("It followed a null pointer"))
        #expect(!core.advice.contains("CrashStacks"))
        var crash = Crashes.details(.signaled(signal: 11, coreDumped: false))
        crash.stacks = "none: the kernel could not write a core"
        #expect(!Explanation(of: Crashes.report(crash, capture: nil)).advice.contains("CrashStacks"))
        crash.stacks = "none: its limit on core files is 0; CrashStacks=yes raises it"
        let none = Explanation(of: Crashes.report(crash, capture: nil))
        #expect(none.advice.hasSuffix("CrashStacks=yes (run: --crash-stacks)."))
        #expect(none.confidence.first == "No stacks: its limit on core files is 0; CrashStacks=yes raises it.")
    }

    @Test("One cause has one signature, with or without a core; another signal has another")
    func signature() {
        func signature(_ crash: CrashDetails, _ capture: CapturedProcess?) -> Signature {
            Signature(of: Crashes.report(crash, capture: capture))
        }
        #expect(signature(Crashes.segmentation, Crashes.capture(.core)).frames == ["parse_header"])
        #expect(signature(Crashes.segmentation, nil).cause == "SIGSEGV")
        #expect(signature(Crashes.abort, nil).cause == "SIGABRT")
        #expect(signature(Crashes.exit, nil).cause == "exit code 3")
    }
}
