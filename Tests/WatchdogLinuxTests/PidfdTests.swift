// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("Processes", .reapsChildren)
struct PidfdTests {
    @Test("exit codes and signals are distinguished", arguments: [0, 1, 77, 255])
    func exitCodes(code: Int) throws {
        #expect(try run(shell("exit \(code)")).status == .exited(code: Int32(code)))
    }

    @Test("resource usage is available when a process is reaped")
    func usage() throws {
        let spawned = try spawn(shell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"))
        let exit = try #require(try waitForExit(spawned.process))
        let usage = try #require(exit.usage)
        #expect(usage.userTime + usage.systemTime > .zero)
        #expect(usage.maximumResidentBytes > 100_000)
        #expect(usage.minorFaults > 0)
    }

    @Test("an exit wakes the loop")
    func exitInLoop() throws {
        let loop = try EventLoop()
        let spawned = try spawn(shell("exit 3"))
        var status: WatchdogBase.ExitStatus?
        let source = try loop.onReadable(spawned.process.descriptor, priority: .important) {
            status = (try? spawned.process.waitExit())?.status
            loop.exit(code: 0)
        }
        _ = try loop.run()
        #expect(status == .exited(code: 3))
        withExtendedLifetime(source) {}
    }

    @Test("a group is signaled after its leader was reaped, when its number may refer to another one")
    func groupOfReapedLeader() throws {
        let output: OwnedDescriptor
        let process: Pidfd
        do {
            let pipe = try OwnedDescriptor.pipe()
            output = pipe.read
            var request = shell("sleep 1000 & exit 7")
            request.descriptors = [.init(pipe.write.number, as: 1)]
            process = try spawn(request).process
        }
        #expect(try waitForExit(process)?.status == .exited(code: 7))
        let version = Machine.kernelRelease.split { ".-".contains($0) }.prefix(2).compactMap { Int($0) }
        if version.lexicographicallyPrecedes([6, 9]) {
            #expect(throws: LinuxError.self) { try process.sendToGroup(SIGKILL) }
            kill(-process.pid, SIGKILL)
        } else {
            try process.sendToGroup(SIGKILL)
        }
        // The program left in the group held the other end.
        #expect(readToEnd(output) == "")
    }

    @Test("a stop and a continue are reported, and neither is an exit")
    func jobControl() throws {
        let spawned = try spawn(shell("while :; do read line || exit; done"), input: true)
        let process = spawned.process
        #expect(try process.waitStopOrContinue() == nil)
        for (signal, expected): (Int32, Pidfd.JobControlChange) in [
            (SIGSTOP, .stopped(signal: SIGSTOP)), (SIGCONT, .continued),
        ] {
            try process.send(signal)
            var change: Pidfd.JobControlChange?
            let isSeen = try eventually {
                change = try process.waitStopOrContinue()
                return change != nil
            }
            #expect(isSeen)
            #expect(change == expected)
            #expect(try process.waitExit() == nil)
        }
        try process.send(SIGKILL)
        #expect(try waitForExit(process)?.status == .signaled(signal: SIGKILL, coreDumped: false))
    }

    @Test("a reaped process can no longer be signaled")
    func gone() throws {
        let spawned = try spawn(shell("exit 0"))
        _ = try waitForExit(spawned.process)
        let error = try #require(throws: LinuxError.self) { try spawned.process.send(0) }
        #expect(error.errno == .noSuchProcess)
        #expect(error.description.hasPrefix("cannot send signal 0 to process \(spawned.pid): No such process"))
    }

    @Test("another user's process may not be signaled", .enabled(if: getuid() != 0, "needs an ordinary user"))
    func notPermitted() throws {
        let first = try Pidfd(opening: 1)
        let error = try #require(throws: LinuxError.self) { try first.send(0) }
        #expect(error.errno == .notPermitted)
    }

    @Test("a process that does not exist cannot be opened")
    func openMissing() throws {
        let spawned = try spawn(shell("exit 0"))
        _ = try waitForExit(spawned.process)
        #expect(throws: LinuxError.self) { try Pidfd(opening: spawned.pid) }
    }

    @Test("the status of a process that is not a child is known if the kernel supports that, and unknown otherwise")
    func stranger() throws {
        // The shell reaps its child; this process is its grandparent.
        let pipe = try OwnedDescriptor.pipe()
        var request = shell("sh -c 'read line; exit 5' & echo $!; wait; exit 0")
        let input = try OwnedDescriptor.pipe()
        request.descriptors = [
            .init(input.read.number, as: 0), .init(pipe.write.number, as: 1), .init(2, as: 2),
            .init(input.read.number, as: 5),
        ]
        request.arguments[2] = "sh -c 'read line <&5; exit 5' & echo $!; wait; exit 0"
        let parent = try spawn(request)
        var buffer = [UInt8](repeating: 0, count: 32)
        try #require(waitReadable(pipe.read))
        let length = read(pipe.read.number, &buffer, buffer.count)
        let pid = try #require(Int32(decimal: buffer.prefix(max(length - 1, 0))))
        let stranger = try Pidfd(opening: pid)
        #expect(try stranger.waitExit() == nil)
        write(input.write.number, "\n", 1)
        _ = try waitForExit(parent.process)
        let exit = try #require(try waitForExit(stranger))
        #expect(exit.usage == nil)
        #expect(exit.status == .exited(code: 5) || exit.status == .unknown)
    }
}

/// Starts a program whose standard input is a pipe that stays open until this process exits or the program is killed.
private func spawn(_ request: SpawnRequest, input: Bool) throws -> SpawnedProcess {
    let pipe = try OwnedDescriptor.pipe()
    var request = request
    request.descriptors[0].source = pipe.read.number
    // The program inherits the write end too, so that its own input never ends.
    request.descriptors.append(.init(pipe.write.number, as: 9))
    return try spawn(request)
}
