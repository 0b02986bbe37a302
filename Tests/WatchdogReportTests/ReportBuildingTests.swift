// SPDX-License-Identifier: Apache-2.0

import ReportFixtures
import TestSupport
import Testing
import WatchdogPolicy

@testable import WatchdogRendering
@testable import WatchdogReport
@testable import WatchdogVerdict

@Suite("Building a report")
struct ReportBuildingTests {
    @Test("The reasons have the lines of Apple's reports")
    func reasons() {
        let reasons = Samples.report().body.termination?.reasons
        #expect(
            reasons == [
                "<RBSTerminateContext| domain:20 code:0x8BADF00D explanation:scene-update watchdog transgression: "
                    + "app<HangMain>:4242 exhausted real (wall clock) time allowance of 10.00 seconds",
                "ProcessVisibility: Foreground",
                "ProcessState: Running",
                "WatchdogEvent: scene-update",
                "WatchdogVisibility: Foreground",
                "WatchdogCPUStatistics: (",
                "\"Elapsed total CPU time (seconds): 7.780 (user 5.000, system 2.780), 39% CPU\",",
                "\"Elapsed application CPU time (seconds): 0.177, 1% CPU\"",
                ") reportType:CrashLog maxTerminationResistance:Interactive>",
            ])
    }

    @Test(
        "Each way to exhaust an allowance has its own text",
        arguments: [
            (
                IncidentFacts.Exhaustion.cpuTime, Duration.milliseconds(3_370),
                "scene-create watchdog transgression: app<HangMain>:4242 exhausted CPU time allowance of 3.37 seconds"
            ),
            (.termination, .seconds(5), "[app<HangMain>:4242] Failed to terminate gracefully after 5.0s"),
            (
                .triggered, .seconds(5),
                "scene-create watchdog transgression: app<HangMain>:4242 asked for its own termination"
            ),
        ]
    )
    func explanations(exhaustion: IncidentFacts.Exhaustion, allowance: Duration, words: String) {
        let report = Samples.report(Samples.facts(.sceneCreate, exhaustion, allowance: allowance))
        #expect(
            report.body.termination?.reasons?.first
                == "<RBSTerminateContext| domain:20 code:0x8BADF00D explanation:\(words)")
    }

    @Test(
        "The share of the CPUs matches real reports: time by elapsed time and number of CPUs, rounded",
        arguments: [
            (40_160, 10_000, 6, 67), (7_780, 10_000, 6, 13), (20_190, 10_000, 6, 34), (5_250, 20_210, 2, 13),
            (3_810, 5_000, 2, 38), (177, 10_000, 6, 0), (1, 0, 6, 0), (1, 10, 0, 10),
        ]
    )
    func percentages(time: Int, elapsed: Int, processors: Int, percent: Int) {
        let cpu = CPUStatistics(
            systemUser: .zero, systemKernel: .zero, application: .zero, elapsed: .milliseconds(elapsed))
        #expect(cpu.percent(.milliseconds(time), processorCount: processors) == percent)
    }

    @Test("A watchdog kill has Apple's exception and termination")
    func killAsApples() {
        let body = Samples.report().body
        #expect(body.exception == .watchdogKill)
        #expect(body.exception.type == "EXC_CRASH")
        #expect(body.exception.signal == "SIGKILL")
        #expect(body.termination?.code == 2_343_432_205)
        #expect(body.termination?.flags == 6)
        #expect(body.termination?.namespace == "WATCHDOG")
        #expect(body.isSimulated == nil)
    }

    @Test("A program that was started by a link has the link's name, in every process, and its file's path")
    func link() throws {
        var facts = Samples.facts()
        facts.link = ProgramLink("star-server", to: "/usr/bin/hang-main")
        facts.others = Samples.others
        facts.others[0].capture?.threads[0].frames = Samples.capture.threads[0].frames
        let body = Samples.report(facts).body
        #expect(body.usedImages.map(\.name) == ["star-server", "libc.so.6", nil])
        #expect(body.usedImages[0].path == "/usr/bin/hang-main")
        let worker = try #require(body.linux?.processes?.first)
        #expect(worker.usedImages.map(\.name) == ["star-server", "libc.so.6"])
        #expect(Samples.report(facts).faultingStack?.calls.map(\.name).contains("star-server + 0x2000") == true)
        #expect(Samples.report().body.usedImages[0].name == "hang-main")
        let finding = Finding(kind: .pythonLock, text: "a", source: "frame 3 in hang-main")
        #expect(facts.link?.renaming(finding).source == "frame 3 in star-server")
    }

    @Test("The name by which somebody else has started a program is used only if it is certain")
    func foreignLinks() {
        func name(_ process: String, _ arguments: [String], _ file: String) -> String? {
            ProgramLink(of: process, arguments, file: file)?.name
        }
        #expect(name("redis-server", ["redis-server 127.0.0.1:6379"], "/usr/bin/redis-check-rdb") == "redis-server")
        #expect(name("a-name-of-20-by", ["/bin/a-name-of-20-bytes"], "/bin/b") == "a-name-of-20-bytes")
        // Its own name, a script, a name that the process gave itself, nothing.
        #expect(name("redis-server", ["/usr/bin/redis-server"], "/opt/redis-server") == nil)
        #expect(name("backup.py", ["/usr/bin/python3", "/srv/backup.py"], "/usr/bin/python3.11") == nil)
        #expect(name("nginx", ["nginx: master process"], "/opt/nginx-debug") == nil)
        #expect(name("", [], "/bin/b") == nil)
        #expect(name("b", [""], "/bin/b") == nil)
    }

    @Test("A report without a kill states that")
    func reportOnly() {
        var facts = Samples.facts()
        facts.enforcement = .report
        facts.kill = .none
        let report = Samples.report(facts)
        #expect(report.body.isSimulated == 1)
        #expect(
            report.body.applicationSpecificInformation?["watchdogd"]?.contains(
                "Kill: none, the process was left running (enforcement: report)") == true)
        #expect(TextRenderer.render(report).contains("\nException Note:  SIMULATED (this is NOT a crash)\n"))
    }

    @Test("The times have as many digits as Apple's")
    func times() {
        let report = Samples.report()
        #expect(report.metadata.timestamp == "2026-11-21 00:20:22.12 +0000")
        #expect(report.body.captureTime == "2026-11-21 00:20:22.1234 +0000")
        #expect(report.body.procLaunch == "2026-11-21 00:20:00.5000 +0000")
    }

    @Test("The faulting thread is the main thread, whatever its position")
    func faultingThread() {
        var capture = Samples.capture
        capture.threads.reverse()
        let body = Samples.report(capture: capture).body
        #expect(body.faultingThread == 1)
        #expect(body.threads.map(\.triggered) == [nil, true])
        #expect(body.threads[0].threadState == nil)
        #expect(body.threads[1].threadState?.registers["rip"]?.value == 0x7f2a_9cf0_f2ad)
        #expect(body.threads[1].threadState?.registers["cs"] == nil)
    }

    @Test("Without stacks there is still a faulting thread, as readers require")
    func withoutCapture() {
        let body = Samples.report(capture: nil).body
        #expect(body.threads.count == 1)
        #expect(body.threads[0].id == 4242)
        #expect(body.threads[0].threadState?.flavor == "x86_THREAD_STATE")
        #expect(body.linux?.capture == nil)
        #expect(body.applicationSpecificInformation?["watchdogd"]?.contains("Stacks: none could be taken") == true)
    }

    @Test("A frame outside every image keeps its address and points to the absent image")
    func absentImage() {
        let body = Samples.report().body
        let frame = body.threads[1].frames[0]
        #expect(body.usedImages.count == 3)
        #expect(body.usedImages[frame.imageIndex] == .absent)
        #expect(frame.imageOffset == 0xdead_beef)
        #expect(body.linux?.buildIDs.count == 3)
    }

    @Test("The sentinel of a capture becomes the absent image of the report")
    func sentinel() {
        var capture = Samples.capture
        capture.images.append(.unknown)
        capture.threads[1].frames[0].imageIndex = 2
        capture.threads[1].frames[0].imageOffset = 0xdead_beef
        let body = Samples.report(capture: capture).body
        #expect(body.usedImages.count == 3)
        #expect(body.usedImages[2] == .absent)
        #expect(body.threads[1].frames[0].imageOffset == 0xdead_beef)
    }

    @Test(
        "A build-id becomes a UUID of its first 16 bytes",
        arguments: [
            ("a1b2c3d4e5f60718293a4b5c6d7e8f9001020304", "a1b2c3d4-e5f6-0718-293a-4b5c6d7e8f90"),
            ("93AD82C85C21CCE1E42AD4F4", "93ad82c8-5c21-cce1-e42a-d4f400000000"),
            ("xyz", "00000000-0000-0000-0000-000000000000"), (nil, "00000000-0000-0000-0000-000000000000"),
        ] as [(String?, String)]
    )
    func buildIDs(buildID: String?, uuid: String) {
        #expect(ImageInfo.uuid(buildID: buildID) == uuid)
    }

    @Test("Secrets reach neither file nor text")
    func secrets() throws {
        let report = Samples.report()
        let file = String(decoding: try ReportCoding.encode(report), as: UTF8.self)
        #expect(!file.contains("hunter2"))
        #expect(!TextRenderer.render(report).contains("hunter2"))
        #expect(report.body.linux?.commandLine == ["/usr/bin/hang-main", "--port=8080", "--password=<redacted>"])
        #expect(report.body.linux?.environment == ["LANG": "C.UTF-8", "API_TOKEN": "<redacted>"])
    }

    @Test("No text of the app can imitate another part of the report")
    func spoofing() throws {
        let report = Samples.goldens[2].report
        let lines = try #require(report.body.applicationSpecificInformation?["watchdogd"])
        #expect(lines.contains("Status: loading\\x0aThread 0 Crashed:\\x1b[31m"))
        #expect(TextRenderer.render(report).split(separator: "\n").count { $0 == "Thread 0 Crashed:" } == 1)
        #expect(report.body.linux?.status == "loading\\x0aThread 0 Crashed:\\x1b[31m")
    }

    @Test("Frames found by scanning are marked, because they may be stale")
    func scannedFrames() {
        #expect(
            Samples.report().body.linux?.notes.last
                == "Frame 4 of thread 0 was found by scanning the stack and may be stale")
    }

    @Test("Threads and images beyond a snapshot's limits are omitted")
    func enormousCounts() {
        var capture = Samples.capture
        capture.threads += (0..<5_000).map { CapturedThread(id: 5_000 + $0, name: "", state: "S") }
        capture.images = Array(repeating: capture.images[0], count: 5_000)
        capture.threads[0].frames[0].imageIndex = 4_999
        let body = Samples.report(capture: capture).body
        #expect(body.threads.count == 4_096)
        #expect(body.usedImages.count == 4_097)
        #expect(body.usedImages[body.threads[0].frames[0].imageIndex] == .absent)
        #expect(body.linux?.notes.contains("906 threads were left out") == true)
    }

    @Test("Kernel facts and trust appear beside each thread")
    func linuxThreads() throws {
        let linux = try #require(Samples.report().body.linux)
        #expect(linux.threads.map(\.id) == [4242, 4243])
        #expect(linux.threads[0].trust == [.registers, .cfi, .cfi, .prologue, .scan])
        #expect(linux.threads[0].kernelStack == ["sk_wait_data", "tcp_recvmsg_locked"])
        #expect(linux.threads[1].asynchronousFrames.map(\.symbol) == ["fetch(_:)"])
        #expect(linux.verdict.kind == .blocked)
        #expect(linux.allowance.elapsedNanoseconds == 10_050_000_000)
    }

    @Test("Endless recursion is cut at the outer end")
    func endlessRecursion() {
        var capture = Samples.capture
        capture.threads[0].frames = Array(repeating: capture.threads[0].frames[2], count: 600)
        let body = Samples.report(capture: capture).body
        #expect(body.threads[0].frames.count == 512)
        #expect(body.linux?.threads[0].trust.count == 512)
        #expect(body.linux?.notes.contains("88 outer frames of thread 0 were left out") == true)
    }

    @Test(
        "Frames stay within their share of the file, at the expense of the last threads",
        arguments: ["Ä<", "\u{1b}", "\"\\", "e\u{301}\u{302}", "x"]
    )
    func enormousCapture(text: String) throws {
        let long = String(repeating: text, count: 1_500)
        let frame = Frame(
            address: .max, imageIndex: 0, imageOffset: .max, symbol: long, symbolLocation: .max, sourceFile: long,
            sourceLine: .max, isInlined: true, trust: .framePointer)
        let threads = (0..<20).map {
            CapturedThread(
                id: 4242 + $0, name: "t", state: "S", frames: Array(repeating: frame, count: 20),
                asynchronousFrames: [frame])
        }
        var capture = Samples.capture
        capture.threads = threads
        let limit = 256 << 10
        let stacks = StackInfo(capture, main: 4242, name: "x", state: nil, frameBytes: limit)
        #expect(stacks.threads[0].frames.count >= 8)
        #expect(stacks.threads[0].frames[0].symbol?.unicodeScalars.count == 1_024)
        #expect(stacks.threads[19].frames.isEmpty || text == "x")

        var report = Samples.report(capture: nil)
        report.body.threads = []
        report.body.linux?.threads = []
        let empty = try ReportCoding.encode(report).count
        report.body.threads = stacks.threads
        report.body.linux?.threads = stacks.details
        // The rest of each thread is added on top.
        #expect(try ReportCoding.encode(report).count < empty + limit + 20 * 1_000)
    }

    @Test("Random identifiers are version 4 and can be read back")
    func identifiers() throws {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<100 {
            let id = IncidentID.random(using: &generator)
            #expect(IncidentID(id.description.lowercased()) == id)
            #expect(id.description.dropFirst(14).first == "4")
            #expect("89AB".contains(id.description.dropFirst(19).first ?? " "))
        }
        #expect(
            IncidentID("356753AC-2172-45DC-977A-11F2328980D0")?.description == "356753AC-2172-45DC-977A-11F2328980D0")
        #expect(IncidentID("356753AC-2172-45DC-977A-11F2328980D") == nil)
        #expect(IncidentID("356753AC217245DC977A11F2328980D0") == nil)
        #expect(IncidentID("356753AC-2172-45DC-977A-11F23289+0D0") == nil)
    }

    // MARK: - Samples in the verdict

    @Test("A main thread in the same sleep in every sample is blocked there, despite short runs before")
    func sameSleep() {
        var facts = Samples.facts()
        facts.evidence.window = .seconds(10)
        facts.evidence.runTime = .milliseconds(750)
        facts.evidence.runDelay = .milliseconds(260)
        func kind(_ samples: ProcessSamples?) -> Verdict.Kind? {
            facts.samples = samples
            return Samples.report(facts).body.linux?.verdict.kind
        }
        #expect(kind(Causes.samples(isMoving: false)) == .blocked)
        #expect(kind(Causes.samples(isMoving: true)) == .partlyRunning)
        #expect(kind(nil) == .partlyRunning)
        facts.evidence.syscall = "7 0x7 0x7ffd3a10 0x1000 0x0 0x0 0x0 0x7ffd39e8 0x7f2a9cf0f2ad"
        #expect(kind(Causes.samples(isMoving: false)) == .partlyRunning)
    }
}
