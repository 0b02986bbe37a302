// SPDX-License-Identifier: Apache-2.0

import ReportFixtures
import Testing
import WatchdogBase
import WatchdogVerdict

@testable import WatchdogReport

@Suite("The time of a launch")
struct LaunchDetailsTests {
    private func details(
        _ marks: [(name: String, start: Int64, length: Int64?, isOpen: Bool, isMain: Bool)], seconds: Int64 = 20
    ) -> LaunchDetails {
        LaunchDetails(
            isReady: false, nanoseconds: seconds * 1_000_000_000, phases: [],
            signposts: marks.map { mark in
                LaunchDetails.Signpost(
                    name: mark.name, startNanoseconds: mark.start * 1_000_000,
                    nanoseconds: mark.length.map { $0 * 1_000_000 }, isOpen: mark.isOpen, isOnMainThread: mark.isMain)
            })
    }

    @Test("names the longest marks of the main thread, their shares, the innermost open one, and the unmarked rest")
    func killed() {
        #expect(
            Causes.killedLaunch.spent
                == "friends.json 8.10 s (41 %), photos 9.70 s (49 %), photo 6 still open, 2.16 s unmarked")
    }

    @Test("states that a mark is open where it is named")
    func openAndNamed() {
        #expect(
            details([("photos", 0, 20_000, true, true)]).spent == "photos 20.00 s (100 %), still open")
    }

    @Test("adds up marks with the same name")
    func sameName() {
        let marks = (0..<8).map { ("photo", Int64($0) * 2_000, Optional(Int64(1_000)), $0 == 7, true) }
        #expect(details(marks).spent == "photo ×8 8.00 s (40 %), still open, 12.00 s unmarked")
    }

    @Test("counts the other threads only if the main thread marked nothing that lasted")
    func otherThreads() {
        let marks: [(String, Int64, Int64?, Bool, Bool)] = [
            ("work", 0, 20_000, false, false), ("tap", 5, nil, false, true),
        ]
        #expect(details(marks).spent == "work 20.00 s (100 %)")
        #expect(details(marks + [("main", 0, 19_000, false, true)]).spent == "main 19.00 s (95 %)")
        #expect(details([("tap", 5, nil, false, true)]).spent == nil)
    }

    @Test("treats the first of equal marks as the outer one, and counts none twice")
    func equal() {
        let marks: [(String, Int64, Int64?, Bool, Bool)] = [
            ("a", 0, 10_000, false, true), ("b", 0, 10_000, false, true),
        ]
        #expect(details(marks).spent == "a 10.00 s (50 %), 10.00 s unmarked")
    }

    private func started(_ phases: [(name: String, milliseconds: Int64, isOpen: Bool)]) -> LaunchDetails {
        var start: Int64 = 0
        return LaunchDetails(
            isReady: false, nanoseconds: 1_000_000_000,
            phases: phases.map { phase in
                defer { start += phase.milliseconds * 1_000_000 }
                return LaunchDetails.Phase(
                    name: phase.name, startNanoseconds: start, nanoseconds: phase.milliseconds * 1_000_000,
                    isOpen: phase.isOpen, runningNanoseconds: phase.milliseconds * 250_000, preemptedNanoseconds: 0,
                    blockedNanoseconds: phase.milliseconds * 750_000)
            })
    }

    @Test("names what took long before the first message, and nothing else", arguments: [44, 46] as [Int64])
    func slowStart(milliseconds: Int64) {
        let details = started([
            ("exec", 400, false), ("mapping", milliseconds, false), ("library-constructors", 375, false),
            ("ready", 181, true),
        ])
        let constructors = "library constructors 375 ms (38 %)"
        #expect(details.slowStart == (milliseconds < 45 ? constructors : "map libraries 46 ms (5 %), " + constructors))
        #expect(
            details.lines.contains("Longest phase: library constructors, first thread on a CPU 25 %, blocked 75 %"))
    }

    @Test("names the unfinished phase before the first message")
    func openStart() {
        let details = started([("exec", 2, false), ("mapping", 1, false), ("own-constructors", 999, true)])
        #expect(details.slowStart == "own constructors not finished in 999 ms")
        #expect(details.phaseWords == "exec 2.0 ms, map libraries 1.0 ms, own constructors not finished in 999 ms")
        #expect(started([("exec", 2, false), ("ready", 998, true)]).slowStart == nil)
    }

    @Test(
        "takes the phase before main from the stack",
        arguments: [
            (["sleep", "slow", "call_init", "call_init", "_dl_init", "_dl_start_user"], "library-constructors"),
            (["read", "load", "own", "call_init", "__libc_start_main", "_start"], "own-constructors"),
            (["read", "load", "own", "__libc_csu_init", "__libc_start_main", "_start"], "own-constructors"),
            (["openat", "open_verify", "_dl_map_object_from_fd", "_dl_map_object", "dl_main", "_dl_start"], "mapping"),
            (["_dl_lookup_symbol_x", "_dl_relocate_object", "dl_main", "_dl_start_user"], "relocation"),
            (["read", "main", "__libc_start_call_main", "__libc_start_main_impl", "_start"], nil),
            // dlopen(3) in main runs constructors, too.
            (["slow", "call_init", "_dl_init", "_dl_open", "main", "__libc_start_main", "_start"], nil),
            ([nil, "_start"], nil), ([], nil),
        ] as [([String?], String?)])
    func phase(functions: [String?], phase: String?) {
        #expect(LaunchDetails.phase(of: functions)?.rawValue == phase)
    }

    @Test("says what the first thread did in the phase in which the launch ended")
    func ending() {
        var details = started([("exec", 2, false), ("own-constructors", 999, true)])
        details.phases[1].ending = "blocked 0.99 s in read (fd 4: pipe), called by load_config (own.c:5)"
        #expect(
            details.lines.contains(
                "Last phase: own constructors: blocked 0.99 s in read (fd 4: pipe), called by load_config (own.c:5)"))
        details.phases[1].isOpen = false
        #expect(!details.lines.contains { $0.hasPrefix("Last phase") })
    }

    /// Samples of the first thread, one every 100 ms from 50 ms on: one on a CPU, five in a call, and others.
    private static var samples: ProcessSamples {
        let image = BinaryImage(
            base: 0x1000, size: 0x1000, buildID: nil, path: "/opt/app", name: "app", architecture: "x86_64")
        let library = BinaryImage(
            base: 0x9000, size: 0x1000, buildID: nil, path: "/usr/lib/libc.so.6", name: "libc.so.6",
            architecture: "x86_64")
        let frames = [
            Frame(address: 0x9100, imageIndex: 1, imageOffset: 0x100, symbol: "read", trust: .registers),
            Frame(address: 0x1200, imageIndex: 0, imageOffset: 0x200, symbol: "stale", trust: .scan),
            Frame(
                address: 0x1100, imageIndex: 0, imageOffset: 0x100, symbol: "load", sourceFile: "/src/own.c",
                sourceLine: 5, trust: .cfi),
        ]
        var samples = ProcessSamples(
            process: 7, name: "app", path: "/opt/app", time: WallTime(seconds: 0), interval: .milliseconds(100),
            duration: .milliseconds(900), sampleCount: 10,
            stacks: [
                .init(state: "R", syscall: "running", frames: []),
                .init(state: "S", syscall: "0 0x4 0x0 0x0 0x0 0x0 0x0 0x7000 0x9100", frames: frames),
                .init(state: "S", syscall: "1 0x4 0x0 0x0 0x0 0x0 0x0 0x7000 0x9100", frames: []),
            ],
            images: [image, library])
        samples.threads = [
            .init(
                id: 7, name: "app",
                runs: [
                    .init(first: 0, count: 1, stack: 0), .init(first: 1, count: 5, stack: 1),
                    .init(first: 6, count: 4, stack: 2),
                ])
        ]
        return samples
    }

    #if arch(x86_64)
        @Test("says in what an earlier phase was blocked, and nothing of those that were not")
        func waits() {
            var details = started([
                ("exec", 2, false), ("library-constructors", 598, false), ("own-constructors", 20, false),
                ("ready", 380, true),
            ])
            details.complete(with: Self.samples, of: 7, executable: "/opt/app", began: .milliseconds(50))
            #expect(
                details.phases.map(\.wait) == [
                    nil, .init(call: "read", caller: "load (own.c:5)", samples: 5, ofSamples: 6), nil, nil,
                ])
            let place = "in 5 of 6 samples in read, called by load (own.c:5)"
            #expect(
                details.lines.contains("Earlier phase: library constructors: blocked 448 ms, \(place)"),
                "\(details.lines)")
            // Without the recorder's times.
            details.phases[1].blockedNanoseconds = nil
            #expect(details.lines.contains("Earlier phase: library constructors: blocked \(place)"))
        }

        @Test(
            "leaves out a phase that was blocked for less than a twentieth of the launch",
            arguments: [(50_000_000, false), (50_000_001, true)] as [(Int64, Bool)])
        func shortWait(blocked: Int64, isSaid: Bool) {
            var details = started([("exec", 2, false), ("own-constructors", 598, false), ("ready", 400, true)])
            details.phases[1].blockedNanoseconds = blocked
            details.complete(with: Self.samples, of: 7, executable: "/opt/app", began: .milliseconds(50))
            #expect((details.phases[1].wait != nil) == isSaid)
        }

        @Test(
            "leaves out samples within a quarter of their interval from the end of a phase",
            arguments: [(574, 4), (576, 5)] as [(Int64, Int)])
        func edge(length: Int64, count: Int) {
            var details = started([("exec", 0, false), ("own-constructors", length, false), ("ready", 400, true)])
            details.complete(with: Self.samples, of: 7, executable: "/opt/app", began: .milliseconds(50))
            #expect(details.phases[1].wait?.samples == count)
            #expect(details.phases[1].wait?.ofSamples == count + 1)
        }
    #endif

    @Test("says nothing of a phase before the samples began, or of another thread")
    func unseenWait() {
        var details = started([("exec", 2, false), ("own-constructors", 598, false), ("ready", 400, true)])
        details.complete(with: Self.samples, of: 7, executable: "/opt/app", began: .milliseconds(600))
        #expect(details.phases[1].wait == nil)
        details.complete(with: Self.samples, of: 8, executable: "/opt/app", began: .milliseconds(50))
        #expect(details.phases[1].wait == nil)
    }

    @Test("tolerates numbers that no launch has", arguments: [Int64.min, -1, 0, .max])
    func hostile(number: Int64) {
        var details = details([("a", 0, 1, true, true)])
        details.nanoseconds = number
        details.signposts[0].startNanoseconds = number
        details.signposts[0].nanoseconds = number
        details.phases = [.init(name: "x", startNanoseconds: number, nanoseconds: number, isOpen: true)]
        details.tasks = [.init(name: "t", startNanoseconds: number, nanoseconds: number, isOpen: true)]
        #expect(details.lines.count == 3)
    }
}
