// SPDX-License-Identifier: Apache-2.0

package import WatchdogBase
package import WatchdogPolicy
package import WatchdogReport
package import WatchdogVerdict

/// Invented incidents, one per kind of event.
package enum Samples {
    package static let host = HostFacts(
        osName: "Debian GNU/Linux 12 (bookworm)",
        kernelRelease: "6.1.0-28-amd64",
        machineModel: "KVM",
        hostName: "build-7",
        uptimeSeconds: 86_412,
        crashReporterKey: "3f2d8930a7fa3eff84ad721f6866b9b4791238c5",
        processorCount: 2
    )

    package static let blocked = HangEvidence(
        window: .milliseconds(20_050),
        runTime: .milliseconds(80),
        runDelay: .zero,
        state: "S",
        syscall: "45 0x7 0x7ffd3a10 0x1000 0x0 0x0 0x0 0x7ffd39e8 0x7f2a9cf0f2ad",
        waitChannel: "sk_wait_data",
        tracer: 0,
        isFrozen: false,
        processorCount: 2
    )

    package static func id(_ number: Int) -> IncidentID {
        let digits = String(number)
        let text = "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
        guard let id = IncidentID(text) else { preconditionFailure("\(text) is a UUID") }
        return id
    }

    /// 2026-11-21 00:20:22 UTC.
    package static let captureTime = WallTime(seconds: 1_795_220_422, nanoseconds: 123_456_789)

    package static func facts(
        _ event: WatchdogEvent = .sceneUpdate,
        _ exhaustion: IncidentFacts.Exhaustion = .wallClock,
        allowance: Duration = .seconds(10),
        number: Int = 1,
        evidence: HangEvidence = blocked
    ) -> IncidentFacts {
        var facts = IncidentFacts(
            id: id(number),
            event: event,
            exhaustion: exhaustion,
            allowance: allowance,
            elapsed: allowance + .milliseconds(50),
            appName: "HangMain",
            pid: 4242,
            executablePath: "/usr/bin/hang-main",
            userID: 1_000,
            parentName: "watchdogd",
            parentPID: 4_200,
            launchTime: WallTime(seconds: 1_795_220_400, nanoseconds: 500_000_000),
            captureTime: captureTime,
            launchInstant: Instant(nanoseconds: 86_390_000_000_000),
            captureInstant: Instant(nanoseconds: 86_411_623_456_789),
            evidence: evidence
        )
        facts.visibility = .foreground
        facts.watchdogVisibility = .foreground
        facts.cgroup = "/system.slice/watchdogd.service/HangMain"
        facts.arguments = ["/usr/bin/hang-main", "--port=8080", "--password=hunter2"]
        facts.environment = ["LANG": "C.UTF-8", "API_TOKEN": "hunter2"]
        facts.cpu = CPUStatistics(
            systemUser: .seconds(5), systemKernel: .milliseconds(2_780), application: .milliseconds(177),
            elapsed: .milliseconds(10_050))
        facts.kill = .verified(after: .microseconds(4_900))
        facts.exitStatus = .signaled(signal: 9, coreDumped: false)
        return facts
    }

    /// A main thread in `recvfrom` under two Swift frames, one of them inlined, and a worker in an await.
    package static let capture = CapturedProcess(
        method: .ptrace,
        frozenNanoseconds: 612_000,
        threads: [
            CapturedThread(
                id: 4242,
                name: "hang-main",
                state: "S",
                waitChannel: "sk_wait_data",
                syscall: blocked.syscall,
                kernelStack: ["sk_wait_data", "tcp_recvmsg_locked"],
                runNanoseconds: 80_000_000,
                runDelayNanoseconds: 12_000,
                voluntarySwitches: 31,
                involuntarySwitches: 2,
                registers: [
                    "rax": 0xffff_ffff_ffff_fe00, "rbx": 1, "rcx": 0x7f2a_9cf0_f2ad, "rdx": 0x1000, "rdi": 7,
                    "rsi": 0x7ffd_3a10, "rbp": 0x7ffd_3a00, "rsp": 0x7ffd_39e8, "r8": 0, "r9": 0, "r10": 0,
                    "r11": 0x246, "r12": 3, "r13": 4, "r14": 5, "r15": 6, "rip": 0x7f2a_9cf0_f2ad, "rflags": 0x246,
                    "cs": 0x33, "fs_base": 0x7f2a_9cd0_0000,
                ],
                frames: [
                    Frame(
                        address: 0x7f2a_9cf0_f2ad, imageIndex: 1, imageOffset: 0x10f2ad, symbol: "recv",
                        symbolLocation: 29, trust: .registers),
                    Frame(
                        address: 0x5581_0000_1234, imageIndex: 0, imageOffset: 0x1234, symbol: "Socket.receive()",
                        symbolLocation: 0, sourceFile: "/src/HangMain/Socket.swift", sourceLine: 41, isInlined: true,
                        trust: .cfi),
                    Frame(
                        address: 0x5581_0000_1234, imageIndex: 0, imageOffset: 0x1234,
                        symbol: "closure #1 in Worker.run(depth:)", symbolLocation: 52,
                        sourceFile: "/src/HangMain/main.swift", sourceLine: 12, trust: .cfi),
                    Frame(address: 0x5581_0000_2000, imageIndex: 0, imageOffset: 0x2000, trust: .prologue),
                    Frame(
                        address: 0x7f2a_9ce2_724a, imageIndex: 1, imageOffset: 0x2724a,
                        symbol: "__libc_start_call_main", symbolLocation: 122,
                        sourceFile: "../sysdeps/nptl/libc_start_call_main.h", sourceLine: 58, trust: .scan),
                ]
            ),
            CapturedThread(
                id: 4243,
                name: "",
                state: "S",
                frames: [Frame(address: 0xdead_beef, imageIndex: 9, imageOffset: 0, trust: .registers)],
                asynchronousFrames: [
                    Frame(
                        address: 0x5581_0000_3100, imageIndex: 0, imageOffset: 0x3100, symbol: "fetch(_:)",
                        symbolLocation: 16, sourceFile: "/src/HangMain/main.swift", sourceLine: 88,
                        trust: .asynchronous)
                ]
            ),
        ],
        images: [
            BinaryImage(
                base: 0x5581_0000_0000, size: 0x8000, buildID: "a1b2c3d4e5f60718293a4b5c6d7e8f9001020304",
                path: "/usr/bin/hang-main", name: "hang-main", architecture: "x86_64"),
            BinaryImage(
                base: 0x7f2a_9ce0_0000, size: 0x1d_5000, buildID: "93ad82c85c21cce1e42ad4f4",
                path: "/usr/lib/x86_64-linux-gnu/libc.so.6", name: "libc.so.6", architecture: "x86_64"),
        ],
        notes: ["the line table of libc.so.6 could not be read"]
    )

    /// A worker of a preforking server with the same program, blocked in a lock that the main process holds, and a
    /// process with few known facts.
    package static var others: [OtherProcess] {
        var worker = OtherProcess(pid: 4244, parentPID: 4242, name: "worker", state: "S")
        worker.arguments = ["/usr/bin/hang-main", "--worker", "--password=hunter2"]
        worker.waits = [
            WaitDetails(
                process: 4244, thread: 4244, name: "worker", syscall: "7 0x7ffd 0x1 0xffffffff 0x0 0x0 0x0 0x0 0x0",
                subject: "fd 5: pipe", holder: .init(relation: .holds, process: 4242, name: "hang-main"), sources: [])
        ]
        var stacks = capture
        stacks.threads.removeLast()
        stacks.threads[0].id = 4244
        stacks.threads[0].name = "worker"
        // Only the last two calls, which belong to libc.
        stacks.threads[0].frames = [stacks.threads[0].frames[0], stacks.threads[0].frames[4]]
        worker.capture = stacks
        var stranger = OtherProcess(pid: 4250, parentPID: 4244, name: "sh\nThread 0 Crashed:", state: "D")
        stranger.failure = "there was no time"
        return [worker, stranger]
    }

    package static func report(_ facts: IncidentFacts = facts(), capture: CapturedProcess? = capture) -> Report {
        Report(of: facts, on: host, capture: capture)
    }

    /// One incident per event, as different from each other as possible.
    package static let goldens: [(name: String, report: Report)] = [
        ("process-launch", Report(of: launch, on: node, capture: captureWithoutStopping)),
        ("scene-create", report(create)),
        ("scene-update", report(update)),
        ("process-exit", report(exit, capture: nil)),
    ]

    private static var launch: IncidentFacts {
        let evidence = HangEvidence(
            window: .milliseconds(20_050), runTime: .milliseconds(310), runDelay: .milliseconds(2), state: "S",
            syscall: "202 0x7f2a98001a40 0x80 0x2 0x0 0x0 0x0 0x7ffd39e8 0x7f2a9cf0f2ad",
            waitChannel: "futex_do_wait", tracer: 0, isFrozen: false, processorCount: 2)
        var facts = facts(.processLaunch, allowance: .seconds(20), number: 1, evidence: evidence)
        facts.visibility = .unknown
        facts.appVersion = "2.1"
        facts.buildVersion = "415"
        return facts
    }

    /// The same machine as a node of a cluster.
    package static var node: HostFacts {
        var host = host
        let variables = [
            "POD_NAME": "maps-7f9c6d-x2x", "POD_NAMESPACE": "shop", "POD_UID": "4f0a2c1e-7f51-4c7e-9d4d-0f6f9f2b7a11",
            "NODE_NAME": "worker-2", "CONTAINER_NAME": "maps",
        ]
        host.workload = WorkloadDetails { variables[$0] }
        return host
    }

    private static var captureWithoutStopping: CapturedProcess {
        var capture = capture
        capture.method = .procfsRegisters
        capture.methodReason = "ptrace is not permitted"
        capture.frozenNanoseconds = 0
        capture.threads[0].registers = [:]
        capture.threads[0].waitChannel = "futex_do_wait"
        capture.threads[0].syscall = launch.evidence.syscall
        capture.threads[0].kernelStack = []
        capture.threads[0].frames[0].symbol = "__lll_lock_wait"
        capture.threads[0].frames.removeLast()
        capture.notes = []
        return capture
    }

    private static var create: IncidentFacts {
        let evidence = HangEvidence(
            window: .milliseconds(38_330), runTime: .milliseconds(9_610), runDelay: .milliseconds(28_700), state: "R",
            syscall: "running", waitChannel: "0", tracer: 0, isFrozen: false, processorCount: 2)
        var facts = facts(.sceneCreate, allowance: .milliseconds(19_620), number: 2, evidence: evidence)
        facts.credit = .milliseconds(18_700)
        facts.elapsed = .milliseconds(38_330)
        facts.cpu = CPUStatistics(
            systemUser: .milliseconds(70_410), systemKernel: .milliseconds(4_120), application: .milliseconds(9_870),
            elapsed: .milliseconds(38_330))
        facts.enforcement = .report
        facts.kill = .none
        facts.exitStatus = nil
        return facts
    }

    private static var update: IncidentFacts {
        var facts = facts(.sceneUpdate, number: 3)
        facts.evidence.window = .milliseconds(10_050)
        facts.evidence.runTime = .milliseconds(40)
        facts.status = "loading\nThread 0 Crashed:\u{1b}[31m"
        facts.summary = "import of 12 albums"
        facts.pings = PingSummary(
            sent: 12, answered: 11, sinceLastAnswerNanoseconds: 10_051_000_000, slowestNanoseconds: 4_100_000)
        facts.notes = ["The same stack was seen at half of the allowance"]
        facts.log = LogDetails(
            source: .journal,
            lines: [
                LogDetails.Line(microseconds: 1_795_220_402_017_345, text: "12 albums to import"),
                LogDetails.Line(microseconds: 1_795_220_411_900_001, text: "fetching with token=hunter2"),
                LogDetails.Line(text: "Thread 0 Crashed:\u{1b}[31m"),
            ])
        return facts
    }

    private static var exit: IncidentFacts {
        var facts = facts(.processExit, .termination, allowance: .seconds(5), number: 4)
        facts.evidence = HangEvidence(state: "D", waitChannel: "folio_wait_bit_common", processorCount: 2)
        facts.visibility = .background
        facts.watchdogVisibility = .background
        facts.cpu = nil
        facts.kill = .unkillable([4242])
        facts.exitStatus = .unknown
        return facts
    }
}
