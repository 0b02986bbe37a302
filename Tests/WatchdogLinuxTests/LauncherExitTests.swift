// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

private func descriptorCount() throws -> Int {
    Int(try run(shell("ls /proc/$PPID/fd | wc -l")).output.filter(\.isNumber)) ?? 0
}

@Suite("A launcher, in a separate process", .serialized)
struct LauncherExitTests {
    @Test("a killed launcher is replaced, and no program is lost or runs twice", arguments: [false, true])
    func killedInTheMiddle(isHeld: Bool) async {
        // In a separate process, because nobody reaps the child of a launch that was canceled before its process was
        // known.
        await #expect(processExitsWith: .success) { [isHeld] in
            let bench = try LaunchBench()
            let output = try OwnedDescriptor.pipe()
            for number in 0..<200 {
                if number % 100 == 50 { try bench.launcher.process?.process.send(SIGKILL) }
                var request = shell("echo \(number)")
                request.launchLimit = patience
                request.descriptors[1].source = output.write.number
                bench.launch(request, onHeld: isHeld ? { _ in } : nil)
            }
            let ends = try bench.finish()
            for end in ends { #expect(try waitForExit(try end.get().process)?.status == .exited(code: 0)) }
            #expect(numbers(in: output.read).sorted() == Array(0..<200))
        }
    }

    @Test("a program that another thread has already reaped is still held")
    func reapedElsewhere() async {
        // In a separate process, because the thread reaps every child.
        await #expect(processExitsWith: .success) {
            _ = try WorkerThread.start { while true { if waitpid(-1, nil, 0) < 0 { poll(nil, 0, 1) } } }
            for _ in 0..<300 {
                let process = try spawn(SpawnRequest(executable: "/bin/true", arguments: ["true"])).process
                #expect(waitReadable(process.descriptor))
            }
        }
    }

    @Test("a stopped launcher is replaced when a launch takes too long, and later launches work")
    func stoppedLauncher() async {
        // In a separate process, because nobody reaps the child of a launch that was canceled before its process was
        // known.
        await #expect(processExitsWith: .success) {
            let bench = try LaunchBench()
            try bench.process.process.send(SIGSTOP)
            var request = shell("exit 0")
            request.launchLimit = .milliseconds(200)
            bench.launch(request)
            request.launchLimit = patience
            bench.launch(request)
            let ends = try bench.finish()
            let error = #expect(throws: SpawnError.self) { _ = try ends[0].get() }
            #expect(error?.stage == .clone && error?.errno == .timedOut)
            #expect(try waitForExit(try ends[1].get().process)?.status == .exited(code: 0))
            #expect(try bench.serve { bench.process.process.hasExited })
        }
    }

    @Test("each failing step leaves no process and no descriptor")
    func failures() async {
        // In a separate process, because other tests open and close descriptors.
        await #expect(processExitsWith: .success) {
            let bench = try LaunchBench()
            let null = try OwnedDescriptor(opening: "/dev/null", flags: O_RDWR)
            var failing: [(SpawnError.Stage, (inout SpawnRequest) -> Void)] = [
                (.directory, { $0.workingDirectory = "/nowhere" }),
                (.execute, { $0.executable = "/nowhere" }),
                (.execute, { $0.arguments.append(ByteString(String(repeating: "x", count: 200_000))) }),
                (.oomScore, { $0.oomScoreAdjustment = 5000 }),
                (.foreground, { $0.session = .newProcessGroup(foregroundOf: null.number) }),
                (.descriptor, { $0.descriptors.append(.init(1_000_000, as: 7)) }),
                (.descriptor, { $0.descriptors.append(.init(null.number, as: 100_000_000)) }),
                (.limit, { $0.limits = [ResourceLimit(.openFiles, soft: .max, hard: .max)] }),
            ]
            if getuid() != 0 { failing.append((.groups, { $0.credentials = Credentials(user: 0, group: 0) })) }
            _ = try bench.failure(SpawnRequest(executable: "/nowhere", arguments: ["x"]))
            #expect(try bench.serve { bench.launcher.children.isEmpty })
            // The first count sets up the counter itself.
            _ = try descriptorCount()
            let before = try descriptorCount()
            for (stage, change) in failing {
                var request = shell("exit 0")
                change(&request)
                #expect(try bench.failure(request).stage == stage)
            }
            #expect(try bench.serve { bench.launcher.children.isEmpty })
            #expect(try eventually { try descriptorCount() <= before })
        }
    }

    @Test("a file size limit neither prevents a launch nor hides the name of a failing step")
    func fileSizeLimit() async {
        // In a separate process, because the limit applies to all of it.
        await #expect(processExitsWith: .success) {
            signal(SIGXFSZ, SIG_IGN)
            try ResourceLimit(.fileSize, soft: 512, hard: 512).apply()
            let long = Array(repeating: String(repeating: "x", count: 1_000), count: 100)
            let output = try run(SpawnRequest(executable: "/usr/bin/printf", arguments: ["printf", "%s"] + long)).output
            #expect(output == long.joined())
            var request = shell("exit 0")
            request.workingDirectory = "/nowhere"
            let directory = #expect(throws: SpawnError.self) { _ = try spawn(request) }
            #expect(directory?.stage == .directory && directory?.errno == .noSuchFile)
            request = SpawnRequest(executable: "/nowhere", arguments: ["x"])
            let execute = #expect(throws: SpawnError.self) { _ = try spawn(request) }
            #expect(execute?.stage == .execute && execute?.errno == .noSuchFile)
            request.arguments += Array(repeating: ByteString(long[0]), count: 64 << 10)
            let size = #expect(throws: SpawnError.self) { _ = try spawn(request) }
            #expect(size?.stage == .clone)
        }
    }

    @Test("a canceled launch has no result, and its program does not run")
    func cancelled() async {
        // In a separate process, because nobody reaps the child of a launch that was canceled before its process was
        // known.
        await #expect(processExitsWith: .success) {
            let bench = try LaunchBench()
            let output: OwnedDescriptor
            do {
                let pipe = try OwnedDescriptor.pipe()
                output = pipe.read
                var request = shell("exec sleep 1000")
                request.descriptors[1].source = pipe.write.number
                let launches = (0..<20).map { _ in bench.launch(request) }
                // Some launches have begun by now, others have not.
                _ = try bench.loop.runOnce(limit: .milliseconds(1))
                for launch in launches { launch.cancel() }
            }
            #expect(try bench.serve { bench.launcher.children.isEmpty })
            for end in bench.ends.values {
                let process = try end.get().process
                try process.send(SIGKILL)
                _ = try waitForExit(process)
            }
            // No process has the pipe any more.
            #expect(readToEnd(output).isEmpty)
            bench.launch(shell("exit 0"))
            #expect(try bench.serve { bench.ends[20] != nil })
            _ = try waitForExit(try #require(bench.ends[20]).get().process)
        }
    }
}
