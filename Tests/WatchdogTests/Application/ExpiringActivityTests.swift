// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Testing
import WatchdogWire

@testable import Watchdog

@MainActor
@Suite("Expiring activities")
struct ExpiringActivityTests {
    /// The calls of a block, with a way to hold up the first one.
    private final class Block: Sendable {
        let calls = Locked<[Bool]>([])
        let called = DispatchSemaphore(value: 0)
        let release = DispatchSemaphore(value: 0)

        func run(_ isExpired: Bool) {
            dispatchPrecondition(condition: .notOnQueue(.main))
            calls.withLock { $0.append(isExpired) }
            called.signal()
            if isExpired { release.signal() } else { release.wait() }
        }

        func waitForCall() -> Bool {
            called.wait(timeout: .endOfPatience) == .success
        }
    }

    @Test("the block is called on another thread, as a task with that name that lasts as long as the block")
    func runs() throws {
        let stage = try Stage.launched()
        let block = Block()
        stage.application.performExpiringActivity(withReason: "Indexing") { block.run($0) }
        #expect(block.waitForCall())
        #expect(stage.turn().flatMap(\.tasksBegun).map(\.name) == ["Indexing"])
        block.release.signal()
        #expect(stage.channel.receive()?.tasksEnded == [1])
        #expect(block.calls.withLock { $0 } == [false])
    }

    @Test("when the time is over, a block that is still running is called a second time in parallel")
    func expires() throws {
        let stage = try Stage.launched()
        let block = Block()
        stage.application.performExpiringActivity(withReason: "Indexing") { block.run($0) }
        #expect(block.waitForCall())
        stage.enterBackground()
        var ended = stage.expire().flatMap(\.tasksEnded)
        #expect(block.waitForCall())
        if ended.isEmpty { ended = stage.channel.receive()?.tasksEnded ?? [] }
        #expect(ended == [1])
        #expect(block.calls.withLock { $0 } == [false, true])
    }

    @Test("when no time is left, the block is called only to report that")
    func refused() throws {
        let stage = try Stage.launched()
        stage.enterBackground()
        _ = stage.expire()
        let block = Block()
        stage.application.performExpiringActivity(withReason: "Indexing") { block.run($0) }
        #expect(block.waitForCall())
        #expect(block.calls.withLock { $0 } == [true])
        #expect(stage.turn().isEmpty)
    }
}
