// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import WatchdogVerdict

@testable import WatchdogCapture

@Suite("A capture without symbols", .reapsChildren)
struct WithoutSymbolsTests {
    @Test("has every thread's addresses, and the images with their build-ids")
    func realProcess() throws {
        let subject = try Subject("threads", "3")
        try subject.waitUntilAsleep()
        let snapshot = try Snapshot.take(of: subject.process, .patient)
        let captured = CapturedProcess.withoutSymbols(from: snapshot, because: "The symbols were lost.")
        #expect(captured.method == .ptrace)
        #expect(captured.frozenNanoseconds > 0)
        #expect(captured.notes == ["The symbols were lost."])
        #expect(captured.shortage == nil)
        #expect(
            CapturedProcess.withoutSymbols(from: snapshot, because: "late", mayPass: true).shortage == "late")
        #expect(captured.threads.count == 3)
        #expect(captured.threads.first?.id == Int(subject.process))
        for thread in captured.threads {
            #expect(thread.state == "S")
            #expect(thread.syscall?.isEmpty == false)
            let frame = try #require(thread.frames.first)
            // The callers' addresses, each after code.
            #expect(thread.frames.count > 1)
            #expect(thread.frames.dropFirst().contains { captured.images[$0.imageIndex].name == "subject" })
            #expect(thread.frames.dropFirst().allSatisfy { [.scan, .framePointer].contains($0.trust) })
            #expect(frame.trust == .registers)
            #expect(frame.address == thread.registers["rip"])
            #expect(thread.registers["orig_rax"] == nil && thread.registers["rflags"] != nil)
            let image = captured.images[frame.imageIndex]
            #expect(image.name.hasPrefix("libc.so"))
            #expect(frame.address - image.base == frame.imageOffset)
            #expect(frame.imageOffset < image.size)
        }
        let program = try #require(captured.images.first { $0.name == "subject" })
        #expect(program.architecture == "x86_64")
        let identifier = try #require(program.buildID)
        #expect(identifier.count == 40 && identifier.allSatisfy { $0.isHexDigit && !$0.isUppercase })
        #expect(captured.images.contains { $0.name == "[vdso]" })
        #expect(!captured.images.contains(.unknown))
        #expect(captured.images.map(\.base) == captured.images.map(\.base).sorted())
    }

    @Test("uses the unknown image if no file is mapped")
    func unknownImage() throws {
        let contents = try SnapshotReader.parse(SnapshotBuilder.complete.bytes)
        let captured = CapturedProcess(contents, descriptors: [], note: "x")
        #expect(captured.images.map(\.name) == ["app", "???"])
        #expect(captured.images[0].size == 0x2000)
        #expect(captured.images[0].buildID == nil)
        let frame = try #require(captured.threads[0].frames.first)
        #expect(frame.address == 1016 && frame.imageIndex == 1 && frame.imageOffset == 1016)
        #expect(captured.threads[0].kernelStack == ["futex_wait"])
    }
}
