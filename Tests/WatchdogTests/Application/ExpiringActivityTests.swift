// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Testing
import WatchdogWire

@testable import Watchdog

@MainActor
@Suite("Expiring activities")
struct ExpiringActivityTests {
    /// The calls of a block, and a way to hold the first one up.
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

    @Test("the block is called elsewhere, as a task of that name that lasts as long as it runs")
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

    @Test("when the time is over, a block that still runs is called a second time beside")
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

    @Test("when there is no time to be had, the block is only called to say so")
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
