// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import WatchdogReport
import WatchdogVerdict

@testable import WatchdogSymbolication

@Suite("Swift's asynchronous callers", .reapsChildren)
struct AsynchronousTests {
    @Test(
        "asynchronous callers of a task that blocks its thread are shown",
        arguments: [Subject.tasksDebug, .tasks, .tasksStatic])
    func chain(subject: Subject) throws {
        // The blocking thread, the main thread, and libdispatch's own.
        let captured = try symbolicate(try subject.start(threads: 2))
        let thread = try #require(captured.threads.first { !$0.asynchronousFrames.isEmpty })
        #expect(
            thread.frames.contain(chain: ["pause", "Store.blocks(_:)", "Store.load(_:)"]), "\(thread.frames.listing)")
        let frames = thread.asynchronousFrames
        let callers = ["Store.load(_:)", "Store.load(_:)", "Client.fetch(_:)", "closure #1 in static Main.main()"]
        #expect(frames.filter { !$0.isInlined }.names.starts(with: callers), "\(frames.listing)")
        #expect(frames.allSatisfy { $0.trust == .asynchronous })
        if subject.compiler.contains("-g") {
            let fetch = try #require(frames.first { $0.symbol == "Client.fetch(_:)" })
            #expect(fetch.sourceFile?.hasSuffix("/Subjects/tasks.swift") ?? false)
        }
        #expect(captured.threads.filter { !$0.asynchronousFrames.isEmpty }.count == 1)
    }

    @Test("are absent in a program without tasks")
    func none() throws {
        let captured = try symbolicate(try Subject.serviceDebug.start("1", threads: 2))
        #expect(captured.threads.allSatisfy { $0.asynchronousFrames.isEmpty })
    }
}
