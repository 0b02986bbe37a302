// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogWire

@testable import Watchdog

@MainActor
@Suite("State restoration")
struct RestorationTests {
    private let scratch = ScratchFolder()
    private var folder: String { "\(scratch.path)/deep/er" }
    private var store: RestorationStore { RestorationStore(folder: folder) }

    @Test("the state of one run is restored in the next, between the two launch callbacks")
    func comesBack() throws {
        let first = try Stage(store: store)
        first.launch()
        #expect(first.delegate.restored == nil)
        first.delegate.stateToKeep = [1, 2, 3]
        first.enterBackground()
        #expect(ScratchFolder.names(in: folder) == ["state"])

        let second = try Stage(store: store)
        second.launch()
        #expect(
            second.delegate.calls.prefix(3) == ["will finish launching", "did decode", "did finish launching"])
        #expect(second.delegate.restored == [1, 2, 3])
        // If killed without notice, it leaves the state that it found.
        let third = try Stage(store: store)
        third.launch()
        #expect(third.delegate.restored == [1, 2, 3])
    }

    @Test("the background is reported as done once the state is written")
    func savedBeforeAnswer() throws {
        let stage = try Stage(store: store)
        stage.launch()
        stage.delegate.stateToKeep = [7]
        stage.delegate.reactions["will encode"] = { _ in
            #expect(stage.channel.drain().allSatisfy { $0.stateDone == nil })
        }
        stage.send(.background, 1)
        #expect(stage.turn().map(\.stateDone) == [1])
        #expect(stage.delegate.calls.suffix(2) == ["did enter background", "will encode"])
    }

    @Test("a state whose launch did not finish is not offered again")
    func poison() throws {
        store.save([6, 6, 6])
        // Goes as far as a launch that crashes on it.
        #expect(store.takeForLaunch() == [6, 6, 6])
        let next = try Stage(store: store)
        next.launch()
        #expect(next.delegate.restored == nil)
        #expect(ScratchFolder.names(in: folder) == [])
    }

    @Test("an app that is terminated during its launch leaves the state unchanged, and does not call its delegate")
    func endedDuringLaunch() throws {
        store.save([1, 2])
        let stage = try Stage(store: store)
        stage.delegate.reactions["did finish launching"] = { $0.terminate() }
        stage.launch()
        #expect(stage.endCount == 1)
        #expect(!stage.delegate.calls.contains("will terminate"))
        let next = try Stage(store: store)
        next.application.terminate()
        #expect(next.delegate.calls == [])
        let last = try Stage(store: store)
        last.launch()
        #expect(last.delegate.restored == [1, 2])
    }

    @Test("state saved during a launch is newer than the state that the launch received")
    func savedMeanwhile() {
        store.save([1])
        #expect(store.takeForLaunch() == [1])
        store.save([2])
        store.keepAfterLaunch()
        #expect(store.takeForLaunch() == [2])
    }

    @Test("an app that saves no state deletes the old one")
    func forgotten() throws {
        store.save([1])
        let stage = try Stage(store: store)
        stage.launch()
        stage.enterBackground()
        #expect(store.takeForLaunch() == nil)
    }

    @Test("an empty state is valid, a large one is kept completely, and one beyond the limit is not")
    func sizes() {
        #expect(store.save([]))
        #expect(store.takeForLaunch() == [])
        let large = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0) }
        #expect(store.save(large))
        #expect(store.takeForLaunch() == large)
        #expect(!store.save([UInt8](repeating: 0, count: RestorationStore.limit + 1)))
    }

    @Test("files belong to the user, and a link in their place is not followed")
    func permissions() {
        store.save([1])
        var facts = stat()
        #expect(stat("\(folder)/state", &facts) == 0 && facts.st_mode & 0o777 == 0o600)
        #expect(stat(folder, &facts) == 0 && facts.st_mode & 0o777 == 0o700)
        unlink("\(folder)/state")
        symlink("/etc/hostname", "\(folder)/state")
        #expect(store.takeForLaunch() == nil)
    }
}
