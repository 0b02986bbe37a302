// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
package import WatchdogRecording

/// Recordings of launches, with only the content that the recorder has on their rung: for a block, the name of the
/// call, the sleep state and the waker on rung A, and only the name on rung B.
package enum Launches {
    /// An app whose logger's constructor is slow, and whose main thread waits for a thread of low priority.
    package static var starSearcher: LaunchRecording {
        let main = LaneScript(thread: 12_251, process: 12_251, name: "StarSearcher")
        main.run(5.9)
        main.run(203, on: 1).preempted(12).run(160.2, on: 1)
        main.run(20.7)
        for _ in 0..<8 {
            main.run(1.2).blocked(21.4, in: "fsync, uninterruptible", by: .interrupt).runnable(0.4)
        }
        main.run(62, on: 1).preempted(9.5).run(240, on: 1)
        main.blocked(91, in: "connect", by: .interrupt).runnable(0.6)
        let loader = Waker.thread(id: 12_253, name: "star loader", nice: 19, isOwn: true)
        main.run(180).blocked(754, in: "futex", by: loader)
        let woken = main.now
        main.runnable(1.1)
        main.run(212, on: 1).preempted(18).run(150)
        let star = LaneScript(thread: 12_253, process: 12_251, name: "star loader", nice: 19, begin: 399)
        star.run(30)
        for index in 0..<30 {
            star.run(7.1).preempted(index % 2 == 0 ? 33 : 41)
        }
        star.preempted((woken - star.now) / ms(1) - 20).run(20.3).blocked(200, in: "futex")
        let web = LaneScript(thread: 12_254, process: 12_251, name: "web", begin: 640)
        web.run(2).blocked(300, in: "epoll_wait", by: .interrupt).run(9).blocked(600, in: "epoll_wait", by: .interrupt)
        web.run(3)
        var recording = Self.recording(
            of: "/opt/starsearcher/StarSearcher", [main.lane, star.lane, web.lane], rung: .a,
            phases: [
                (.request, 0.41), (.exec, 0.63), (.linkerStart, 1.1), (.mapping, 2.3), (.relocation, 5.9),
                (.libraryConstructors, 381.2), (.ownConstructors, 381.3), (.main, 401.7),
                (.application, main.now / ms(1)),
            ],
            end: LaunchEnd(kind: .firstFrame, time: main.now))
        recording.marks = [
            LaunchMark(kind: .exec, time: ms(0.41), name: "/opt/starsearcher/StarSearcher"),
            LaunchMark(kind: .hello, time: ms(401.7)),
            LaunchMark(kind: .signpost, time: ms(590), name: "catalog opened"),
            LaunchMark(kind: .firstFrame, time: main.now),
        ]
        recording.objects = objects(
            ["libSuperfastLog.so", "libswiftCore.so", "libFoundationEssentials.so", "libc.so.6", "libsqlite3.so.0"],
            mapped: 1.1, perObject: 0.24, relocation: 0.72)
        recording.objects[4].isUsed = false
        recording.objects[4].relocation = ms(31.2)
        recording.samples = SampledCalls(
            interval: .milliseconds(1), count: 1_176,
            roots: [
                .init(
                    function: "main", object: "StarSearcher", count: 1_160,
                    callees: [
                        .init(
                            function: "StarCatalog.load(rows:)", object: "StarSearcher", count: 690,
                            callees: [
                                .init(function: "StarCatalog.parse(row:)", object: "StarSearcher", count: 601),
                                .init(function: "strtod", object: "libc.so.6", count: 80),
                            ]),
                        .init(function: "superfast_log_init", object: "libSuperfastLog.so", count: 361),
                    ]),
                .init(function: "_start", object: "ld-linux-x86-64.so.2", count: 16),
            ])
        recording.resources = LaunchResources(
            user: ms(1_310), system: ms(122), minorFaults: 4_312, majorFaults: 0, bytesRead: 0, peakMemory: 41 << 20)
        return recording
    }

    /// The same app, with its constructors timed; one of them has no name.
    package static var constructors: LaunchRecording {
        var recording = starSearcher
        let folder = "/usr/lib/x86_64-linux-gnu/"
        let steps: [(file: String, function: String?, end: Double)] = [
            ("libc.so.6", "init_cacheinfo", 6.1), ("libsqlite3.so.0", nil, 6.9),
            ("libSuperfastLog.so", "log_init", 381.2),
        ]
        let own = [
            "SampleRegistry.registerEverythingThatTheOrganizerMayShow(in: SampleCatalog, for: StarSearcher) -> ()",
            "_GLOBAL__sub_I_main.cpp",
        ]
        let all =
            steps.map { (folder + $0.file, $0.function, $0.end) }
            + own.enumerated().map { ("/opt/starsearcher/StarSearcher", Optional($1), 381.25 + Double($0) * 0.05) }
        var begin = 5.9
        recording.constructors = all.enumerated().map { index, step in
            defer { begin = step.2 }
            let running = begin > 6.5 && begin < 300 ? 362.3 : step.2 - begin
            return LaunchConstructor(
                object: step.0, function: step.1, offset: 0x1139 + UInt64(index) * 64, isOwn: index >= steps.count,
                begin: ms(begin), end: ms(step.2),
                time: ThreadTime(running: ms(running), waiting: ms(step.2 - begin - running)))
        }
        return recording
    }

    /// An interpreter that loads forty files with code.
    package static var python: LaunchRecording {
        let main = LaneScript(thread: 801, process: 801, name: "python3")
        main.run(30.5, on: nil)
        for index in 0..<20 {
            main.blockedOrRunnable(0.9, in: index % 3 == 0 ? "read" : "newfstatat").run(6.3, on: nil)
        }
        var recording = Self.recording(
            of: "/usr/bin/python3.11", [main.lane], rung: .b,
            phases: [
                (.request, 0.35), (.exec, 0.52), (.linkerStart, 0.94), (.mapping, 1.6), (.relocation, 2.4),
                (.libraryConstructors, 2.6), (.ownConstructors, 2.65), (.main, main.now / ms(1)),
            ],
            end: LaunchEnd(kind: .exit, time: main.now, code: 0))
        recording.program.command = ["./report.py", "--year", "2026"]
        recording.program.executables = ["/home/ada/report.py", "/usr/bin/python3.11"]
        recording.objects = objects(
            ["libm.so.6", "libz.so.1", "libexpat.so.1", "libc.so.6"], mapped: 0.95, perObject: 0.16, relocation: 0.2)
        for index in 0..<36 {
            recording.objects.append(
                LoadedObject(
                    path: "/usr/lib/python3/dist-packages/pandas/_libs/module\(index).cpython-311-x86_64-linux-gnu.so",
                    mapped: ms(31 + Double(index) * 3.1), mapping: ms(0.2 + Double(index % 7) * 0.11),
                    relocation: ms(0.1 + Double(index % 5) * 0.34), size: 300_000 + index * 9_000, isLate: true))
        }
        recording.resources = LaunchResources(
            user: ms(131), system: ms(24), minorFaults: 6_120, majorFaults: 14, bytesRead: 19_550_208,
            peakMemory: 88 << 20)
        recording.lostRecords = 3
        return recording
    }

    /// A launch that was killed at its limit.
    package static var killed: LaunchRecording {
        let main = LaneScript(thread: 77, process: 77, name: "quickpick")
        main.run(41)
        main.blocked(8_112, in: "read, uninterruptible", by: .interrupt).runnable(0.2)
        main.run(180).blocked(9_740, in: "recvfrom", by: .interrupt).run(12)
        main.blocked(1_914, in: "recvfrom")
        var recording = Self.recording(
            of: "/usr/bin/quickpick", [main.lane], rung: .a,
            phases: [
                (.request, 0.4), (.exec, 0.6), (.linkerStart, 1), (.mapping, 2.1), (.relocation, 5),
                (.libraryConstructors, 6), (.ownConstructors, 6.1), (.main, 20), (.application, 20_000),
            ],
            end: LaunchEnd(kind: .killed, time: .seconds(20), code: 9))
        recording.phases[8].isComplete = false
        recording.marks = [
            LaunchMark(kind: .hello, time: ms(20)),
            LaunchMark(kind: .signpost, time: ms(8_160), name: "friends.json"),
            LaunchMark(kind: .signpost, time: ms(18_080), name: "photo 5"),
        ]
        return recording
    }

    /// A recording by ptrace(2) breakpoints: phases without lanes.
    package static var rungC: LaunchRecording {
        var recording = Self.recording(
            of: "/usr/bin/redis-server", [], rung: .c,
            phases: [
                (.request, 0.5), (.exec, 0.7), (.linkerStart, 1.2), (.mapping, 2.8), (.relocation, 7),
                (.libraryConstructors, 8.3), (.ownConstructors, 8.35), (.main, 20.9),
            ],
            end: LaunchEnd(kind: .listen, time: ms(20.9)))
        for index in recording.phases.indices.dropFirst(2).dropLast() {
            let wall = recording.phases[index].wall
            recording.phases[index].time = ThreadTime(
                running: wall / 2, waiting: wall * 3 / 10, blocked: wall - wall / 2 - wall * 3 / 10)
        }
        let names = ["redis-server", "bio_close_file", "bio_aof"]
        recording.lanes = names.enumerated().map { index, name in
            ThreadLane(
                threadID: 4_711 + Int32(index), processID: 4_711, name: name, begin: .zero,
                accounting: ThreadTime(running: ms(index == 0 ? 10.45 : 0.12), waiting: ms(index == 0 ? 6.27 : 0.3)))
        }
        recording.marks = [LaunchMark(kind: .listen, time: ms(20.9))]
        return recording
    }

    /// A recording of a set-user-ID program: only data from the clock and the program itself.
    package static var rungD: LaunchRecording {
        var recording = Self.recording(
            of: "/usr/bin/sudo", [], rung: .d, phases: [(.request, 0.5), (.main, 31)],
            end: LaunchEnd(kind: .ready, time: ms(31)))
        recording.marks = [LaunchMark(kind: .exec, time: ms(0.5)), LaunchMark(kind: .ready, time: ms(31))]
        recording.notes = ["/usr/bin/sudo changes its user ID, so it was not stopped: run it as the user it becomes."]
        return recording
    }
}
