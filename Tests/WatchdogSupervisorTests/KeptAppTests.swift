// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing
import WatchdogBase
import WatchdogControl
import WatchdogLinux
import WatchdogPolicy

@testable import WatchdogDaemon
@testable import WatchdogLaunch
@testable import WatchdogRun

/// `WATCHDOGD_UPDATE_GOLDENS=1` rewrites the files of this version; those of earlier versions stay unchanged.
@Suite("The saved state of an app")
struct KeptAppTests {
    private static let start = Instant(nanoseconds: 1_000_000_000_000)
    private static let first = LaunchID("356753AC-2172-45DC-977A-11F2328980D0")
    private static let second = LaunchID("11111111-2222-4333-8444-555555555555")

    /// An app in each stage, reached by the machine itself.
    private static let stages: [String: AppMachine] = {
        var settings = RestartSettings()
        (settings.policy, settings.consequence, settings.limit) = (.always, .stop, .count(1))
        var machine = AppMachine(.enabled, restart: Shared(wrappedValue: settings), seed: 7)
        var stages: [String: AppMachine] = [:]
        func tell(_ event: AppEvent) { _ = machine.handle(event, at: start) }
        func end(_ launch: LaunchID, isVerified: Bool = true) {
            let outcome = Outcome(cause: .exited, status: .exited(code: 3), isDeathVerified: isVerified)
            tell(.ended(launch, .init(outcome, hasPendingReports: true, reason: "exited with code 3")))
        }
        tell(.begun)
        tell(.created(first, hasPreparations: true))
        stages["preparing"] = machine
        tell(.prepared(first))
        tell(.ready(first))
        stages["live"] = machine
        var other = machine
        tell(.terminationRequested(AppWaiter(id: 1, waits: false)))
        stages["stopping"] = machine
        end(first)
        stages["stopped"] = machine
        machine = other
        tell(.restartRequested(AppWaiter(id: 2, waits: false)))
        stages["restarting"] = machine
        machine = other
        end(first, isVerified: false)
        stages["unkillable"] = machine
        machine = other
        end(first)
        stages["waiting"] = machine
        tell(.deadlineReached)
        tell(.created(second, hasPreparations: false))
        tell(.ready(second))
        end(second)
        stages["failed"] = machine
        return stages
    }()

    private static func kept(_ stage: String) throws -> KeptApp {
        KeptApp(
            try #require(stages[stage]?.saved),
            lastIncident: IncidentSummary(
                kind: .exit, time: Timestamp(microseconds: 1_700_000_000_000_000), summary: "exited with code 3"),
            lastExit: "exited with code 3")
    }

    private static func fixture(_ version: UInt32, _ stage: String) -> URL {
        StateFixture.file("app-v\(version)-\(stage).state")
    }

    @Test("is read from the files that this version wrote", arguments: stages.keys.sorted())
    func resumesFromFixture(stage: String) throws {
        let file = Self.fixture(KeptApp.format, stage)
        let kept = try Self.kept(stage)
        if StateFixture.areUpdated { try Data(StateEncoder.encode(kept)).write(to: file) }
        let read = try StateDecoder.decode(KeptApp.self, from: Array(Data(contentsOf: file)))
        #expect(read.saved == Self.stages[stage]?.saved)
        #expect(read.lastIncident == kept.lastIncident)
        #expect(read.lastExit == "exited with code 3")
    }

    @Test("lets the next machine continue in the same stage", arguments: stages.keys.sorted())
    func resumesMachine(stage: String) throws {
        let file = Self.fixture(KeptApp.format, stage)
        let read = try StateDecoder.decode(KeptApp.self, from: Array(Data(contentsOf: file)))
        var machine = AppMachine(
            .enabled, restart: Shared(wrappedValue: RestartSettings()), seed: 1, resuming: read.saved)
        #expect(machine.isInheriting)
        #expect(machine.saved == Self.stages[stage]?.saved)
        let effects = machine.handle(.begun, at: Self.start)
        switch stage {
        case "stopped": #expect(machine.phase == .stopped && !effects.contains(.create))
        case "failed": #expect(machine.phase == .failed)
        case "waiting": #expect(machine.phase == .waiting(until: Self.start))
        case "preparing", "unkillable": #expect(effects.last == .create)
        case "stopping": #expect(machine.phase == .stopped && effects.contains(.publish(.endedUnseen)))
        case "restarting", "live": #expect(machine.nextDeadline != nil)
        default: Issue.record("no expectation for \(stage)")
        }
    }

    @Test("is read from a file of version 2")
    func version2() throws {
        let read = try StateDecoder.decode(KeptApp.self, from: Array(Data(contentsOf: Self.fixture(2, "waiting"))))
        #expect(read.saved.stage == .waiting(until: Self.start + .seconds(9)))
        #expect(read.saved.afterEnd == .relaunch)
        #expect(read.saved.requestedRestarts == 2)
        #expect(read.saved.accounted == [Self.first])
        #expect(read.saved.counted == Self.second)
        let machine = RestartMachine(
            settings: Shared(wrappedValue: RestartSettings()), seed: 0, resuming: read.saved.restarts)
        #expect(machine.restarts == 1)
        #expect(machine.restartsByCause == [.exit: 1])
    }

    @Test("has a separate place for each daemon: the machine's, root's own, and those on other sockets")
    func places() {
        func name(_ path: String, isRootsOwn: Bool) -> String {
            Survival.name(controlPath: path, standardPath: "/standard", isRootsOwn: isRootsOwn)
        }
        #expect(name("/standard", isRootsOwn: false) == "serve")
        #expect(name("/standard", isRootsOwn: true) == "serve-user")
        #expect(name("/other", isRootsOwn: false).hasPrefix("serve-"))
        #expect(name("/other", isRootsOwn: false) != name("/another", isRootsOwn: false))
    }

    @Test("state from a newer version is not guessed, and is reported")
    func newerVersion() throws {
        let survival = try Survival(controlPath: "/nowhere/\(UUID())", standardPath: "", notifier: nil)
        defer { survival.directory.remove() }
        var problems: [String] = []
        survival.onProblem = { problems.append($0) }
        #expect(survival.kept("app") == nil)
        #expect(problems == [], "nothing is kept of a new app")
        let path = "\(survival.directory.path)/app.app"
        for (format, isRead) in [(KeptApp.format, true), (KeptApp.format + 1, false)] {
            let file = try StateFile(creating: path, format: format, capacity: 4_096, staysOpen: false)
            try file.write(checkpoint: StateEncoder.encode(Self.kept("waiting")))
            #expect((survival.kept("app") != nil) == isRead)
        }
        let format = KeptApp.format + 1
        #expect(problems == ["\(path) was written by a newer watchdogd (format \(format)); app starts over"])
    }
}
