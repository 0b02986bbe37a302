// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import WatchdogReport
import WatchdogVerdict

@testable import WatchdogSymbolication

@Suite("Source lines and inlined calls", .reapsChildren)
struct SourceTests {
    /// A frame's expected content.
    private struct Expectation {
        var name: String
        var text: String
        var isInlined: Bool
    }

    @Test("in C: each inlined call is a frame, with the line of the call in it")
    func inlinedC() throws {
        try check(
            try symbolicate(try Subject.chainWithLines.start("inlined", threads: 2)).main.frames,
            source: "chain.c",
            [
                Expectation(name: "inlined_leaf", text: "line of inlined_leaf", isInlined: true),
                Expectation(name: "inlined_middle", text: "line of inlined_middle", isInlined: true),
                Expectation(name: "holds_inlined", text: "line of holds_inlined", isInlined: false),
            ]
        )
    }

    @Test("in Swift: each inlined call is a frame, with the line of the call in it")
    func inlinedSwift() throws {
        try check(
            try symbolicate(try Subject.inlined.start()).main.frames,
            source: "inlined.swift",
            [
                Expectation(name: "innermost(_:)", text: "line of innermost", isInlined: true),
                Expectation(name: "Outer.between(_:)", text: "line of between", isInlined: true),
                Expectation(name: "container(_:)", text: "line of container", isInlined: false),
            ]
        )
    }

    private func check(_ frames: [Frame], source: String, _ expected: [Expectation]) throws {
        let start = try #require(frames.firstIndex { $0.symbol == expected[0].name }, "\(frames.listing)")
        let found = frames[start...].prefix(expected.count)
        for (frame, expectation) in zip(found, expected) {
            #expect(frame.symbol == expectation.name, "\(frames.listing)")
            try #expect(frame.sourceLine == (line(containing: expectation.text, in: source)), "\(frames.listing)")
            #expect(frame.sourceFile?.hasSuffix("/Subjects/\(source)") ?? false)
            #expect(frame.isInlined == expectation.isInlined)
            #expect(frame.isInlined == (frame.symbolLocation == 0))
        }
        #expect(Set(found.map(\.address)).count == 1)
        #expect(found.allSatisfy { $0.trust == .cfi })
    }

    @Test("Swift's lines are found, in dynamic and static programs", arguments: [Subject.serviceDebug, .serviceStatic])
    func serviceLines(subject: Subject) throws {
        let frames = try symbolicate(try subject.start("1", threads: 2)).thread("worker-0").frames
        let run = try #require(frames.last { $0.symbol == "Service.run(depth:)" })
        try #expect(run.sourceLine == (line(containing: "return run(depth: depth - 1)", in: "service.swift")))
        let work = try #require(frames.first { [$0].names == ["Waiter.work(on:)"] })
        try #expect(work.sourceLine == (line(containing: "never.wait()", in: "service.swift")))
    }

    @Test("without line tables, frames have only names")
    func namesOnly() throws {
        let frames = try symbolicate(try Subject.serviceWithLines.start("1", threads: 2), depth: .names).main.frames
        #expect(frames.allSatisfy { $0.sourceFile == nil && $0.sourceLine == nil && !$0.isInlined })
        #expect(frames.contain(chain: ["Service.run(depth:)", "main"]))
    }

    @Test("without libdw, frames have addresses, images and build-ids")
    func addressesOnly() throws {
        let process = try Subject.serviceWithLines.start("1", threads: 2)
        let captured = try symbolicate(process, depth: .addresses)
        let whole = try symbolicate(process)
        #expect(captured.images == whole.images)
        for (thread, other) in zip(captured.threads, whole.threads) {
            #expect(thread.frames.allSatisfy { $0.symbol == nil && $0.trust != .cfi })
            #expect(thread.frames.first?.address == other.frames.first?.address)
        }
    }

    @Test("an image that libdw may not read leaves the rest unchanged")
    func excluded() throws {
        let process = try Subject.templates.start()
        let whole = try symbolicate(process)
        let index = try #require(whole.images.firstIndex { $0.name.hasPrefix("templates") })
        let captured = try symbolicate(process, excluded: [index])
        #expect(captured.images == whole.images)
        let frames = try captured.main.frames
        try #expect(frames.first == (whole.main.frames.first))
        let opaque = frames.filter { $0.imageIndex == index }
        #expect(opaque.count > 1)
        #expect(opaque.allSatisfy { $0.symbol == nil })
        let calledByIt = zip(frames, frames.dropFirst()).filter { $0.0.imageIndex == index }
        #expect(calledByIt.allSatisfy { $0.1.trust != .cfi }, "\(frames.listing)")
    }
}
