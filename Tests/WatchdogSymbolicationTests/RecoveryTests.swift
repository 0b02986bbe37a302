// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import WatchdogCapture
import WatchdogVerdict

@testable import WatchdogSymbolication

@Suite("Stacks recovered without call frame information", .reapsChildren)
struct RecoveryTests {
    /// The number of frames found, of those that call frame information yields.
    private struct Score {
        var found = 0
        var all = 0
        var differences = ""
    }

    @Test(
        "match that information in blocked programs",
        arguments: [
            (Subject.chain, ["chain"]), (.chain, ["libc"]), (.templates, ["templates"]),
            (.serviceWithLines, ["service"]), (.serviceWithLines, ["libdispatch", "libc"]),
            (.serviceStatic, ["service"]),
        ]
    )
    func blocked(subject: Subject, images: [String]) throws {
        let score = try score(of: try subject.start("3"), ignoring: images)
        #expect(score.found == score.all, "\(score.differences)")
        #expect(score.all >= 8)
    }

    @Test("match that information wherever a program is", arguments: ["busy", "libswiftCore", "libc"])
    func anywhere(image: String) throws {
        let process = try Subject.busy.start(running: 1)
        var found = 0
        var all = 0
        var differences = ""
        for _ in 0..<40 {
            // On a busy machine, it might be in the same place as before.
            try process.waitUntilItHasRun(for: .milliseconds(1))
            let score = try score(of: process, ignoring: [image])
            found += score.found
            all += score.all
            differences += score.differences
        }
        // Functions in assembly may use the stack in ways that no compiler does.
        #expect(found * 100 >= all * 97, "\(found) of \(all)\n\(differences)")
        #expect(all > 200)
    }

    @Test("stacks of code generated at run time follow its frame pointers")
    func runTimeCode() throws {
        let frames = try symbolicate(try Subject.runtimeCode.start()).main.frames
        let position = try #require(frames.firstIndex { $0.symbol == "called_back" })
        let made = try #require(frames.dropFirst(position + 1).first)
        #expect(made.symbol == nil)
        #expect(made.trust == .cfi)
        let next = try #require(frames.dropFirst(position + 2).first)
        #expect(next.symbol == "calls_made_code", "\(frames.listing)")
        #expect(next.trust == .framePointer)
        #expect(frames.contain(chain: ["calls_made_code", "main"]))
    }

    @Test("use the sentinel image for addresses in no file")
    func unknownImage() throws {
        let captured = try symbolicate(try Subject.runtimeCode.start())
        let made = try #require(try captured.main.frames.first { captured.images[$0.imageIndex] == .unknown })
        #expect(made.imageIndex == captured.images.count - 1)
        #expect(made.imageOffset == made.address)
        #expect(try symbolicate(try Subject.chain.start(threads: 2)).images.last != .unknown)
    }

    @Test("begin at the caller if a call went to a wild address")
    func wildCall() throws {
        let process = try Subject.chain.start(threads: 2)
        let snapshot = try Snapshot.take(of: process.id, SnapshotOptions(method: .ptrace, stopTimeout: patience))
        var contents = try snapshot.contents()
        let expected = try symbolicate(contents, modules: snapshot.modules).main.frames
        // As if `middle` had called address 16 instead of `innermost`: its return address is on top of the stack.
        let position = try #require(expected.firstIndex { $0.symbol == "middle" })
        let stack = try #require(contents.threads[0].stack)
        let slots = stride(from: stack.address, to: stack.address + UInt64(stack.bytes.count), by: 8)
        let slot = try #require(slots.first { stack.word(at: $0) == expected[position].address })
        contents.threads[0].registers[X86_64.Register.rsp] = slot
        contents.threads[0].registers[X86_64.Register.rip] = 16
        let captured = try symbolicate(contents, modules: snapshot.modules)
        let frames = try captured.main.frames
        #expect(frames.first?.address == 16)
        #expect(frames.first.map { captured.images[$0.imageIndex] } == .unknown)
        #expect(frames.dropFirst().map(\.address) == expected.dropFirst(position).map(\.address), "\(frames.listing)")
    }

    /// Unwinds every thread twice: with all information, and without that of some images.
    private func score(of process: Process, ignoring names: [String]) throws -> Score {
        let snapshot = try Snapshot.take(of: process.id, SnapshotOptions(method: .ptrace, stopTimeout: patience))
        let contents = try snapshot.contents()
        let list = Image.images(of: contents.mappings)
        var files = ImageFiles(contents, modules: snapshot.modules)
        let opened = list.map { files.open($0) }
        guard let images = ImageTable(images: list, files: opened, excluded: [], willParse: { _ in }) else {
            throw Failure(description: "no memory")
        }
        let symbols = Symbols(images)
        func unwinder(ignoring ignored: Set<Int>) -> Unwinder {
            Unwinder(
                space: AddressSpace(mappings: contents.mappings),
                images: images,
                symbols: symbols,
                callFrames: CallFrameInformation(images, ignoring: ignored),
                memory: CapturedMemory(contents.threads.compactMap(\.stack)),
                stackLayouts: StackLayouts(images)
            )
        }
        func text(_ frame: Unwinder.Frame?) -> String {
            guard let frame else { return "nothing" }
            let name = symbols.function(containing: frame.lookupAddress)?.name ?? "?"
            return "\(String(frame.programCounter, radix: 16)) \(name) \(frame.trust)"
        }
        let ignored = list.indices.filter { index in names.contains { list[index].name.hasPrefix($0) } }
        #expect(ignored.count == names.count)
        var score = Score()
        for thread in contents.threads {
            guard let registers = Registers(thread) else { continue }
            let expected = unwinder(ignoring: []).unwind(registers, limit: 512).frames
            let found = unwinder(ignoring: Set(ignored)).unwind(registers, limit: 512).frames
            score.all += expected.count
            let same = zip(expected, found).prefix { $0.programCounter == $1.programCounter }.count
            score.found += same
            guard same < expected.count else { continue }
            let other = same < found.count ? found[same] : nil
            score.differences += "after \(text(expected[same - 1])): \(text(expected[same])), not \(text(other))\n"
        }
        return score
    }
}
