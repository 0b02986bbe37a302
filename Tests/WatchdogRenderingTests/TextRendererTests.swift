// SPDX-License-Identifier: Apache-2.0

import ReportFixtures
import Testing
import WatchdogBase
import WatchdogPolicy

@testable import WatchdogRendering
@testable import WatchdogReport
@testable import WatchdogVerdict

@Suite("Text")
struct TextRendererTests {
    @Test("A phone's report becomes Apple's text, byte for byte")
    func foreignText() throws {
        let report = try ReportCoding.decode(Array(ForeignSample.ips.utf8))
        #expect(TextRenderer.render(report) == ForeignSample.text)
    }

    @Test("The registers of x86-64 are in Apple's rows")
    func registers() {
        let text = TextRenderer.render(Samples.report())
        #expect(
            text.contains(
                """

                Thread 0 crashed with X86 Thread State (64-bit):
                  rax: 0xfffffffffffffe00  rbx: 0x0000000000000001  rcx: 0x00007f2a9cf0f2ad  rdx: 0x0000000000001000
                  rdi: 0x0000000000000007  rsi: 0x000000007ffd3a10  rbp: 0x000000007ffd3a00  rsp: 0x000000007ffd39e8
                   r8: 0x0000000000000000   r9: 0x0000000000000000  r10: 0x0000000000000000  r11: 0x0000000000000246
                  r12: 0x0000000000000003  r13: 0x0000000000000004  r14: 0x0000000000000005  r15: 0x0000000000000006
                  rip: 0x00007f2a9cf0f2ad  rfl: 0x0000000000000246

                Binary Images:

                """))
    }

    @Test("A Mac's report describes more of its processor")
    func processor() {
        var report = Samples.report()
        let state = ThreadState(
            flavor: ThreadState.x86,
            registers: [
                "rip": .init(value: 1), "cr2": .init(value: 2), "cpu": .init(value: 0), "trap": .init(value: 133),
                "err": .init(value: 0x0200_0148),
            ])
        report.body.threads[0].threadState = state
        #expect(
            TextRenderer.render(report).contains(
                "  rip: 0x0000000000000001  cr2: 0x0000000000000002\n  \nLogical CPU:     0\n"
                    + "Error Code:      0x02000148 \nTrap Number:     133\n\nBinary Images:\n"))
    }

    @Test("The stack shows source, inlining and asynchronous callers")
    func frames() {
        let text = TextRenderer.render(Samples.report())
        #expect(
            text.contains(
                """
                Thread 0 name:  hang-main
                Thread 0 Crashed:
                0   libc.so.6                     \t    0x7f2a9cf0f2ad recv + 29
                1   hang-main                     \t    0x558100001234 Socket.receive() + 0 (Socket.swift:41) [inlined]
                2   hang-main                     \t    0x558100001234 closure #1 in Worker.run(depth:) + 52 (main.swift:12)
                3   hang-main                     \t    0x558100002000 0x558100000000 + 8192
                4   libc.so.6                     \t    0x7f2a9ce2724a __libc_start_call_main + 122 (libc_start_call_main.h:58)

                Thread 1:
                0   ???                           \t        0xdeadbeef 0x0 + 3735928559
                1   hang-main                     \t    0x558100003100 fetch(_:) + 16 (main.swift:88) [async]


                Thread 0 crashed with
                """))
    }

    @Test("The verdict comes first under the faulting thread")
    func verdictFirst() {
        let text = TextRenderer.render(Samples.report())
        #expect(
            text.contains(
                """
                Termination Reason: WATCHDOG 2343432205\u{20}
                <RBSTerminateContext| domain:20
                """))
        #expect(
            text.contains(
                """

                Triggered by Thread:  0

                Application Specific Information:
                Main thread blocked 19.97 s in recvfrom (fd 7) · 0.4 % running, 0.0 % waiting for CPU
                Allowance: 10.00 s for scene-update, elapsed 10.05 s
                State: Foreground, Running, main thread S (sleeping)
                Stacks: all threads stopped at once, for 0.6 ms
                Kill: every process gone 4.9 ms after the decision
                Host: build-7
                Note: the line table of libc.so.6 could not be read
                Note: Frame 4 of thread 0 was found by scanning the stack and may be stale


                Thread 0 name:
                """))
    }

    @Test("A capture on request does not look like a crash; a hang keeps Apple's words")
    func capture() {
        var facts = Samples.facts(.sceneUpdate, .requested, allowance: .zero)
        facts.kind = .capture
        facts.enforcement = .report
        facts.kill = .none
        facts.exitStatus = nil
        let report = Samples.report(facts)
        let text = TextRenderer.render(report)
        for words in ["Exception", "SIMULATED", "Termination", "Triggered by", "rashed"] {
            #expect(!text.contains(words), "\(words)")
        }
        #expect(text.contains("\n\nApplication Specific Information:\n"))
        #expect(text.contains("\nCapture: the stacks were requested; the process continues\n"))
        #expect(text.contains("\nThread 0 name:  hang-main\nThread 0 (main):\n0   libc.so.6"))
        #expect(text.contains("\nThread 1:\n"))
        #expect(text.contains("\nThread 0 (main) with X86 Thread State (64-bit):\n"))
        #expect(report.body.exception == .watchdogKill && report.body.isSimulated == 1, "other readers need them")
        facts.kind = .hang
        let hang = TextRenderer.render(Samples.report(facts))
        #expect(hang.contains("\nException Note:  SIMULATED (this is NOT a crash)\n"))
        #expect(hang.contains("\nTriggered by Thread:  0\n") && hang.contains("\nThread 0 Crashed:\n"))
    }

    @Test("No text of a process or a file can control a terminal")
    func noControlCharacters() {
        let evil = "\u{1b}[2J\u{9b}31m\r\n\u{202e}\u{7f}\u{200b}\u{2028}\u{0}"
        var report = Samples.report()
        report.metadata.appName = evil
        report.body.procName = evil
        report.body.procPath = evil
        report.body.modelCode = evil
        report.body.threads[0].name = evil
        report.body.threads[0].queue = evil
        report.body.threads[0].frames[1].symbol = evil
        report.body.threads[0].frames[1].sourceFile = evil
        report.body.usedImages[0].name = evil
        report.body.usedImages[0].path = evil
        report.body.usedImages[0].uuid = evil
        report.body.termination?.reasons = [evil]
        report.body.applicationSpecificInformation = [evil: [evil]]
        report.body.kernelTriage = evil
        report.body.vmRegionInfo = evil
        report.body.exception.subtype = evil
        let text = TextRenderer.render(report)
        let bad = text.unicodeScalars.filter {
            ($0.value < 0x20 && $0 != "\n" && $0 != "\t") || (0x7f...0x9f).contains($0.value)
                || [0x202e, 0x200b, 0x2028].contains($0.value)
        }
        #expect(bad.isEmpty)
        #expect(
            text.contains(
                "Process:             \\x1b[2J\\x9b31m\\x0d\\x0a\\u{202e}\\x7f\\u{200b}\\u{2028}\\x00 [4242]\n"))
    }

    @Test("Lines have the form that text parsers expect")
    func readersForm() {
        let text = TextRenderer.render(Samples.report())
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let frames = lines.filter { $0.first?.isNumber == true }
        let images = lines.drop { $0 != "Binary Images:" }.dropFirst().prefix { !$0.isEmpty }
        #expect(frames.count == 7)
        #expect(images.count == 3)
        #expect(frames.allSatisfy { $0.wholeMatch(of: /[0-9]+\s+.+?\s+0x[0-9a-f]+\s+.+/) != nil })
        #expect(
            images.allSatisfy {
                $0.wholeMatch(of: /\s*0x[0-9a-f]+ -\s+0x[0-9a-f]+ .+ \S+  <[0-9a-f]{32}> .+/) != nil
            })
        #expect(
            lines.contains { $0.wholeMatch(of: /Date\/Time: {11}\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4}/) != nil }
        )
        #expect(text.hasSuffix("\n\nEOF\n"))
    }

    @Test("Lines are bounded, however long a symbol or a path is")
    func boundedLines() {
        var report = Samples.report()
        let long = String(repeating: "x", count: 1_000_000)
        report.body.procPath = long
        report.body.threads[0].frames[0].symbol = long
        report.body.usedImages[0].name = long
        report.body.termination?.reasons = [long]
        let lines = TextRenderer.render(report).split(separator: "\n")
        #expect(lines.allSatisfy { $0.utf8.count <= 4_096 })
    }

    @Test("Indices and sizes that make no sense are rendered, not trusted")
    func hostileNumbers() {
        var report = Samples.report()
        report.body.faultingThread = -3
        report.body.threads[0].frames[0].imageIndex = -1
        report.body.threads[0].frames[1].imageOffset = .max
        report.body.usedImages[0].base = .max
        report.body.usedImages[0].size = .max
        report.body.linux?.threads = []
        #expect(TextRenderer.render(report).contains("Triggered by Thread:  -3\n"))
    }

    @Test("A single line of text keeps harmless characters")
    func singleLine() {
        #expect("Größe · 日本 👩‍👩‍👧".singleLine() == "Größe · 日本 👩‍👩‍👧")
        #expect("abcdef".singleLine(limit: 6) == "abcdef")
        #expect("abcdefg".singleLine(limit: 6) == "abc...")
        #expect("ab\u{1b}c".singleLine(limit: 6) == "ab\\...")
        #expect("ab\u{1b}c".singleLine(limit: 7) == "ab\\x1bc")
        #expect("äbcdefg".singleLine(limit: 6) == "äbc...")
    }

    @Test(
        "Numbers are rounded for people",
        arguments: [
            (19_970_000_000, "19.97"), (19_974_999_999, "19.97"), (19_975_000_000, "19.98"), (0, "0.00"),
            (-5_000_000, "-0.01"),
        ]
    )
    func seconds(nanoseconds: Int64, text: String) {
        #expect(Duration.nanoseconds(nanoseconds).seconds(fractionDigits: 2) == text)
    }
}
