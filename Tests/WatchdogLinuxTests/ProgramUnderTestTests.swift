// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogLinux

@Suite("A program under test")
struct ProgramUnderTestTests {
    private func program(_ script: String, _ output: ProgramUnderTest.Output = .tail) throws -> ProgramUnderTest {
        var request = SpawnRequest(
            executable: "/bin/sh", arguments: ["sh", "-c", script], environment: ["PATH": "/usr/bin:/bin"])
        request.descriptors = []
        return try ProgramUnderTest(request, output: output)
    }

    @Test("Ends at SIGTERM, and its last words are known")
    func terminates() throws {
        let program = try program("trap 'echo bye >&2; exit' TERM; echo ready >&2; while :; do sleep 0.01; done")
        let limit = Instant.now() + .seconds(30)
        while program.errors?.lastLine != "ready", .now() < limit {
            program.wait(until: limit)
            program.errors?.read()
        }
        #expect(!program.terminate(within: .seconds(30)))
        #expect(program.process.hasExited)
        program.errors?.read()
        #expect(program.errors?.lastLine == "bye")
        #expect(program.kill() == nil)
    }

    @Test("Is killed with what it has started, if it ignores SIGTERM")
    func kills() throws {
        let program = try program("trap '' TERM; sleep 1000 & echo ready >&2; wait; wait; sleep 1000")
        let limit = Instant.now() + .seconds(30)
        while program.errors?.lastLine != "ready", .now() < limit {
            program.wait(until: limit)
            program.errors?.read()
        }
        program.terminate(within: .milliseconds(20), all: true)
        #expect(program.tree.processes().count > 1)
        #expect(program.kill(within: .seconds(30)) == nil)
        #expect(program.tree.processes() == [])
    }

    @Test("An interruption ends the wait, and nothing is left")
    func interruption() throws {
        let program = try program("trap '' TERM; echo ready >&2; sleep 1000; sleep 1000", .discarded)
        let pipe = try OwnedDescriptor.pipe()
        #expect(program.errors == nil)
        #expect(!program.wait(until: .now() + .milliseconds(1), or: pipe.read))
        #expect(write(pipe.write.number, "x", 1) == 1)
        #expect(program.wait(until: .now() + .seconds(30), or: pipe.read))
        #expect(program.terminate(within: .seconds(30), or: pipe.read) || program.process.hasExited)
        #expect(program.kill(within: .seconds(30)) == nil)
    }
}
