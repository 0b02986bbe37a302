// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogCapture
import WatchdogReport

@testable import WatchdogRecording

@Suite("Names of sampled functions")
struct SampleNamingTests {
    private func inode(of path: String) -> UInt64 {
        var status = stat()
        return stat(path, &status) == 0 ? UInt64(status.st_ino) : 0
    }

    /// One stack: a call at 0x1010 of the file, and the CPU at 0x2020.
    private func stacks(_ path: String, inode: UInt64) -> SampledStacks {
        var stacks = SampledStacks(interval: .milliseconds(1))
        stacks.images = [.init(path: "[vdso]", inode: 0), .init(path: path, inode: inode)]
        stacks.places = [
            .init(image: 0, offset: 0x10, isInnermost: true), .init(image: 1, offset: 0x1010, isInnermost: false),
            .init(image: 1, offset: 0x2020, isInnermost: true),
        ]
        stacks.counts = [([1, 2], nil, 3), ([1, 0], nil, 1)]
        return stacks
    }

    private func launch(_ stacks: SampledStacks?) -> RecordedLaunch {
        let recording = LaunchRecording(
            program: LaunchedProgram(command: ["app"], executables: [], processID: 100),
            host: RecordingHost(architecture: "x86_64", kernel: "6.18", processors: 2), requested: WallTime(seconds: 0),
            end: LaunchEnd(kind: .exit, time: .zero, code: 0), samples: stacks?.calls())
        return RecordedLaunch(recording: recording, exitCode: 0, stacks: stacks)
    }

    @Test("are requested for addresses within the calls, and only for files")
    func request() {
        let job = SampleNaming(stacks("/bin/sh", inode: inode(of: "/bin/sh")))
        #expect(job.request.fault == nil)
        #expect(job.request.images.map(\.path) == ["/bin/sh"])
        #expect(job.request.addresses.map(\.offset) == [0x1010, 0x2020])
        #expect(job.request.addresses.map(\.lookup) == [0x100f, 0x2020])
        #expect(job.request.addresses.map(\.isInnermost) == [false, true])
        #expect(job.files.count == 1 && job.notes == [])
        func call(_ name: String?, isInlined: Bool = false) -> NamingAnswer.Call {
            .init(
                symbol: name, symbolLocation: name.map { _ in 1 }, sourceFile: nil, sourceLine: nil,
                isInlined: isInlined)
        }
        let answer = NamingAnswer(calls: [[call("inner", isInlined: true), call("outer")], [call(nil)]], notes: [])
        #expect(job.names(in: answer) == [1: ["outer", "inner"]])
        #expect(job.names(in: NamingAnswer(calls: [[], [call("f")]], notes: [])) == [1: [], 2: ["f"]])
    }

    @Test("are not requested from a file that replaced the mapped one, or that is gone")
    func replaced() {
        let replaced = SampleNaming(stacks("/bin/sh", inode: inode(of: "/bin/sh") + 1))
        #expect(replaced.request.addresses == [] && replaced.files.isEmpty)
        #expect(replaced.notes.count == 1 && replaced.notes[0].contains("/bin/sh"))
        let gone = SampleNaming(stacks("/no/\u{1b}file", inode: 4))
        #expect(gone.notes.count == 1 && !gone.notes[0].contains("\u{1b}"))
    }

    @Test("are missing without the symbolication program, with one line")
    func withoutSymbolicator() {
        var launch = launch(stacks("/bin/sh", inode: inode(of: "/bin/sh")))
        let before = launch.recording.samples
        launch.nameSamples(with: Symbolicator(program: "/nonexistent"))
        #expect(launch.recording.samples == before)
        #expect(
            launch.recording.notes == [
                "The functions in the samples have no names: watchdogd-symbolicate was not found."
            ])
    }

    @Test("are not requested without samples")
    func withoutSamples() {
        var launch = launch(nil)
        launch.nameSamples(with: Symbolicator(program: "/nonexistent"))
        #expect(launch.recording.notes == [] && launch.recording.samples == nil)
    }

    @Test("are requested for constructors too, each once, and the outermost counts")
    func constructors() {
        let constructors = [0x10, 0x20, 0x10].map { (offset: UInt64) in
            LaunchConstructor(object: "/bin/sh", offset: offset, isOwn: true, begin: .zero, end: .zero)
        }
        let probes = [0x20, 0x30, 0x10].map { (offset: UInt64) in
            LaunchLog.Probe(program: 0, path: "/bin/sh", inode: inode(of: "/bin/sh"), offset: offset)
        }
        let naming = ConstructorNaming(constructors, probes: probes + probes)
        let job = SampleNaming(naming.addresses)
        #expect(job.request.addresses.map(\.offset) == [0x20, 0x10])
        #expect(job.request.addresses.map(\.lookup) == [0x20, 0x10])
        let named = naming.named([0: ["init_logger", "inlined"], 1: []])
        #expect(named.map(\.function) == [nil, "init_logger", nil])
        #expect(naming.named([1: ["a\u{1b}b"]]).first?.function?.contains("\u{1b}") == false)
    }

    @Test("names of constructors are missing without the symbolication program, with one line")
    func constructorsWithoutSymbolicator() {
        var launch = launch(nil)
        launch.recording.constructors = [
            LaunchConstructor(object: "/bin/sh", offset: 16, isOwn: true, begin: .zero, end: .zero)
        ]
        launch.probes = [LaunchLog.Probe(program: 0, path: "/bin/sh", inode: inode(of: "/bin/sh"), offset: 16)]
        let before = launch.recording.constructors
        launch.nameConstructors(with: Symbolicator(program: "/nonexistent"))
        #expect(launch.recording.constructors == before)
        #expect(
            launch.recording.notes == ["The constructors have no names: watchdogd-symbolicate was not found."])
    }
}
