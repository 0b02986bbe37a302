// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux
import WatchdogRecording

@testable import WatchdogRecording

@Suite("A recorder", .serialized, .reapsChildren)
struct LadderTests {
    @Test("records a dynamic program on each rung, as far as the rung can", arguments: Rung.allCases)
    func rungs(rung: Rung) throws {
        let launch: RecordedLaunch
        do {
            launch = try record("/bin/true", rung: rung)
        } catch let error as RecordingError where error.exitCode == 77 {
            // This machine does not permit the rung, with a reason. The last rung needs no permission.
            #expect(error.description.hasPrefix("rung \(rung.rawValue) is not possible here: "))
            #expect(rung != .d && !hasAllRights, "\(error)")
            print("skipped: \(error)")
            return
        }
        let recording = launch.recording
        #expect(launch.exitCode == 0)
        #expect(recording.end.kind == .exit && recording.end.code == 0)
        #expect(recording.ladder.filter(\.used).map(\.rung) == [rung])
        #expect(recording.phases.first?.begin == .zero)
        #expect(recording.phases.last?.end == recording.end.time)
        #expect(zip(recording.phases, recording.phases.dropFirst()).allSatisfy { $0.end == $1.begin })
        #expect(recording.program.executables.last?.hasSuffix("/true") == true)
        let kinds = recording.phases.map(\.kind)
        guard rung < .d else {
            #expect(kinds == [.request, .main])
            return
        }
        #expect(kinds.starts(with: [.request, .exec, .linkerStart]))
        #expect(kinds.last == .main)
        #expect(recording.program.kind == .dynamic)
        #expect(recording.program.buildID != nil)
        guard rung < .c else { return }
        #expect(recording.objects.contains { $0.path.contains("/libc.so.6") || $0.path.contains("musl") })
        #expect(recording.lanes.first?.spans.isEmpty == false)
    }

    /// docs/launches.md promises half a percent.
    ///
    /// CPU time that a hypervisor took is in the lane, but not in the kernel's count of the thread's time:
    /// `CONFIG_PARAVIRT_TIME_ACCOUNTING`, `update_rq_clock_task()` in kernel/sched/core.c.
    @Test("accounts for the main thread's CPU time like the kernel, within half a percent")
    func laneSums() throws {
        let request = RecordingRequest(
            executable: "/bin/sh", command: ["sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"],
            timeLimit: patience, rung: .a)
        do {
            let before = try #require(MachineCPU.read()).stolenTime
            let lane = try #require(LaunchRecorder.record(request).recording.lanes.first)
            let stolen = try #require(MachineCPU.read()).stolenTime - before
            let running = lane.spans.filter { $0.state == .running }.reduce(Duration.zero) { $0 + $1.wall }
            let counted = try #require(lane.accounting?.running)
            let facts: Comment = "\(running) in the lane, \(counted) counted, \(stolen) stolen"
            #expect(running >= counted * 0.995, facts)
            // /proc/stat counts in ticks, separately for each CPU.
            #expect(running <= counted * 1.005 + stolen + ProcessCPU.clockTick * Machine.processorCount, facts)
        } catch let error as RecordingError where error.exitCode == 77 {
            // This machine does not permit the rung, with a reason.
            #expect(error.description.hasPrefix("rung A is not possible here: "))
            #expect(!hasAllRights, "\(error)")
            print("skipped: \(error)")
        }
    }

    @Test("follows a script to its interpreter, and an exec to the program")
    func wrapperChain() throws {
        let recording = try LaunchRecorder.record(
            RecordingRequest(
                executable: "/bin/sh", command: ["sh", "-c", "exec env true"], timeLimit: patience)
        ).recording
        #expect(recording.program.executables.count == 3)
        #expect(recording.program.executables.last?.hasSuffix("/true") == true)
        #expect(recording.marks.filter { $0.kind == .exec }.count == 3)
        #expect(recording.end.kind == .exit)
    }

    @Test(
        "names the program that a wrapper waited for, but not one that the wrapper became",
        arguments: Rung.allCases)
    func forkingWrapper(rung: Rung) throws {
        func notes(_ command: String..., goal: LaunchGoal? = nil, limit: Duration = patience) throws -> [String] {
            let request = RecordingRequest(
                executable: try resolveExecutable(command[0], path: "/usr/bin:/bin"), command: command, goal: goal,
                timeLimit: limit, rung: rung)
            return try LaunchRecorder.record(request).recording.notes.filter { $0.contains("a process of its own") }
        }
        do {
            var limit = Duration.milliseconds(300)
            var wrapped: [String]
            var isNamed = false
            repeat {
                // It is not a wrapper before it has waited for most of its launch, and its child has no program before
                // it has executed one, which takes long without a CPU.
                limit = limit * 2
                wrapped = try notes("timeout", "600", "sleep", "600", goal: .useful, limit: limit)
                isNamed = wrapped.first?.contains("which waited for sleep [") == true
            } while !isNamed && limit < patience
            #expect(isNamed && wrapped.count == 1, "\(wrapped)")
            #expect(try notes("env", "X=1", "sleep", "0.3") == [])
        } catch let error as RecordingError where error.exitCode == 77 {
            // This machine does not permit the rung, with a reason.
            #expect(error.description.hasPrefix("rung \(rung.rawValue) is not possible here: "))
            #expect(!hasAllRights, "\(error)")
        }
    }

    @Test("names what the main thread waits for", arguments: [Rung.a, .b])
    func awaited(rung: Rung) throws {
        let recording: LaunchRecording
        do {
            recording = try record("/bin/sh", "-c", "sleep 0.5; true", rung: rung).recording
        } catch let error as RecordingError where error.exitCode == 77 {
            // This machine does not permit the rung, with a reason.
            return print("skipped: \(error)")
        }
        let details = try #require(recording.lanes.first).spans.compactMap(\.detail)
        // The child may not have executed its program yet, and then has the shell's name.
        #expect(details.contains { $0.hasPrefix("wait4 (") && $0.contains("child") }, "\(Set(details))")
    }

    @Test("forwards an exit code, and the signal of a killed program")
    func endings() throws {
        let exited = try record("/bin/sh", "-c", "exit 7")
        #expect(exited.exitCode == 7)
        #expect(exited.recording.end.kind == .exit)
        let killed = try record("/bin/sh", "-c", "kill -9 $$")
        #expect(killed.exitCode == 137)
        #expect(killed.recording.end == LaunchEnd(kind: .killed, time: killed.recording.end.time, code: 9))
        #expect(killed.recording.phases.last?.isComplete == false)
    }

    @Test("ends a launch with READY=1 on the notify socket, and then the program")
    func ready() throws {
        let script =
            "import os,socket,time\ns=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM)\n"
            + "a=os.environ['NOTIFY_SOCKET']\ns.sendto(b'READY=1','\\0'+a[1:] if a[0]=='@' else a)\ntime.sleep(60)"
        let python = try #require(try? resolveExecutable("python3", path: "/usr/bin:/bin:/usr/local/bin"))
        let launch = try record(python, "-c", script)
        #expect(launch.recording.end.kind == .ready)
        #expect(launch.exitCode == 0)
        #expect(launch.recording.marks.contains { $0.kind == .ready })
    }

    @Test("reports a server's cost up to listening, not the later cost", arguments: [nil, Rung.c])
    func costOfServer(rung: Rung?) throws {
        let python = try #require(try? resolveExecutable("python3", path: "/usr/bin:/bin:/usr/local/bin"))
        let script = "import socket\ns=socket.socket()\ns.bind(('127.0.0.1',0))\ns.listen()\nwhile True: pass"
        let recording: LaunchRecording
        do {
            recording = try record(python, "-c", script, rung: rung).recording
        } catch let error as RecordingError where error.exitCode == 77 {
            // This machine does not permit the rung, with a reason.
            #expect(!hasAllRights, "\(error)")
            return
        }
        #expect(recording.end.kind == .listen)
        // It computes for a second more, in which it could have sent READY=1.
        let cost = recording.resources.user + recording.resources.system
        #expect(cost > .zero && cost < LaunchEndJudge.listeningGrace / 2, "\(cost)")
        guard rung == .c else { return }
        let counted = try #require(recording.lanes.first?.accounting?.running)
        #expect(counted < LaunchEndJudge.listeningGrace / 2, "\(counted)")
    }

    @Test("stops at its time limit")
    func timeLimit() throws {
        var limit = Duration.milliseconds(150)
        var cost: Duration
        repeat {
            limit = limit * 2
            let launch = try LaunchRecorder.record(
                RecordingRequest(executable: "/bin/sleep", command: ["sleep", "600"], timeLimit: limit))
            #expect(launch.recording.end.kind == .timeLimit)
            #expect(launch.recording.end.time == limit)
            #expect(launch.exitCode == 75)
            cost = launch.recording.resources.user + launch.recording.resources.system
            // It may have had no CPU.
        } while cost == .zero && limit < patience
        // Less than a clock tick.
        #expect(cost > .zero)
    }

    @Test("names a missing program, a missing interpreter, and a foreign one")
    func badInput() throws {
        let folder = try TemporaryFolder()
        let script = try folder.write("script", "#!/no/such/interpreter\n")
        #expect(failure(script) == "cannot execute \(script): its interpreter '/no/such/interpreter' does not exist")
        var header = [UInt8](repeating: 0, count: 64)
        header.replaceSubrange(0..<8, with: [0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0])
        header[18] = 183
        let foreign = try folder.write("foreign", header)
        #expect(failure(foreign)?.contains("a program for aarch64") == true)
        #expect(failure("/no/such/program") == "cannot execute /no/such/program: no such file")
    }

    @Test("runs a script without an interpreter line, like shells do")
    func plainScript() throws {
        let folder = try TemporaryFolder()
        #expect(try record(try folder.write("plain", "exit 3\n")).exitCode == 3)
    }

    private func record(_ path: String, _ arguments: String..., rung: Rung? = nil) throws -> RecordedLaunch {
        try LaunchRecorder.record(
            RecordingRequest(executable: path, command: [path] + arguments, timeLimit: patience, rung: rung))
    }

    private func failure(_ path: String) -> String? {
        do {
            _ = try LaunchRecorder.record(RecordingRequest(executable: path, command: [path], timeLimit: patience))
            return nil
        } catch {
            return error.description
        }
    }
}
