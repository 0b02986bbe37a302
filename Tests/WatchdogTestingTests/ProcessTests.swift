// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport
import Testing
import WatchdogLinux

@testable import WatchdogTesting

@Suite("A test of a real process", .reapsChildren)
struct ProcessTests {
    @Test("An app that hangs in its launch is killed, and the crash log names the function")
    func killedInLaunch() async throws {
        let app = try await SupervisedApp.launch(
            .product("SlowLaunch", "--seconds", "600"), LaunchSettings(launch: .seconds(4)))
        let kill = try await app.expectKill(.ateBadFood, during: .sceneCreate)
        #expect(kill.cause == .watchdog)
        #expect(kill.isDeathVerified)
        let report = try kill.report
        #expect(report.mainThread.contains("migrateDatabase(within:)"))
        #expect(report.cause == .blocked)
        #expect(report.verdict.contains("clock_nanosleep"))
        #expect(report.faultingThread == report.mainThread)
        #expect(app.output == "SlowLaunch: launching")
    }

    @Test("An app is ready, survives, and exits on request")
    func healthy() async throws {
        let app = try await SupervisedApp.launch("HealthyApp")
        let launch = try await app.ready()
        #expect(launch > .zero)
        #expect(app.state == "foreground")
        #expect(kill(try #require(app.processID), 0) == 0)
        try await app.expectSurvival(for: .milliseconds(300))
        let end = try await app.terminate()
        #expect(end.cause == .terminated)
        #expect(end.incidents.isEmpty)
        #expect(throws: TestSetupError.self) { try end.report }
    }

    @Test("A crash log outlives its app")
    func reportOutlivesApp() async throws {
        let kill = try await SupervisedApp.launch(
            .product("HangMain", "--how", "semaphore", "--after", "0.1"), LaunchSettings(update: .seconds(2))
        ).expectKill()
        #expect(try kill.report.mainThread.contains("semaphore"))
    }

    @Test("Hangs are limited: an app that answers passes; one that hangs, or is killed for it, fails")
    func hangs() async throws {
        let healthy = try await SupervisedApp.launch("HealthyApp")
        try await healthy.ready()
        try await healthy.expectSurvival(for: .milliseconds(200))
        try await healthy.expectHangs(atMost: .seconds(30))

        // Its first answers are fast. Then it never answers, and no allowance ends before the test does.
        let hung = try await SupervisedApp.launch(
            .product("HangMain", "--how", "sleep", "--after", "0.2"),
            LaunchSettings(update: .seconds(600), terminate: .seconds(1)))
        try await hung.ready()
        let process = try #require(hung.processID)
        #expect(eventually { WaitChannel.read(process, thread: process)?.contains("nanosleep") ?? false })
        try await hung.expectSurvival(for: .seconds(1))
        let failure = await #expect(throws: ExpectationFailure.self) {
            try await hung.expectHangs(atMost: .milliseconds(250))
        }
        let words = "expected HangMain to hang at most 0.25 seconds, but HangMain"
        #expect(failure?.description.hasPrefix(words) == true, "\(String(describing: failure))")
    }

    @Test("A hang is killed with its own event; a failed expectation names the crash log")
    func hang() async throws {
        let app = try await SupervisedApp.launch(
            .product("HangMain", "--how", "semaphore", "--after", "0.1"), LaunchSettings(update: .seconds(2)))
        let failure = await #expect(throws: ExpectationFailure.self) {
            try await app.expectKill(.ateBadFood, during: .sceneCreate)
        }
        let text = try #require(failure?.description)
        #expect(
            text.hasPrefix(
                "expected HangMain to be killed with 0x8badf00d during scene-create, but it was killed with 0x8badf00d "
                    + "during scene-update\nverdict: "))
        let path = try #require(text.split(separator: "\n").last?.dropFirst("crash log: ".count))
        let log = try CrashLog(reading: String(path))
        #expect(log.mainThread.contains("semaphore"))
        // The directory is kept because the expectation failed.
        try FileManager.default.removeItem(
            at: URL(fileURLWithPath: String(path)).deletingLastPathComponent().deletingLastPathComponent())
    }

    @Test("An app moves to the background, is suspended and resumed; its task ends before")
    func lifecycle() async throws {
        let app = try await SupervisedApp.launch(.product("BackgroundSaver", "--finish", "--seconds", "0.1"))
        try await app.background()
        #expect(app.state == "background")
        try await app.suspend()
        #expect(app.state == "suspended")
        try await app.resume()
        try await app.foreground()
        #expect(app.state == "foreground")
        #expect(try await app.terminate().cause == .terminated)
    }

    @Test("A task that outlives its time is a kill with its own code; one that ends in time is not")
    func backgroundTask() async throws {
        let settings = LaunchSettings(backgroundTime: .seconds(1))
        // A killed app does not remove its own file.
        let library = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: library) }
        let leaking = try await SupervisedApp.launch(
            .product("BackgroundSaver", "--leak", "--database", library), settings)
        try await leaking.background()
        try await leaking.expectKill(.backgroundTask, during: .backgroundTask)
        let saving = try await SupervisedApp.launch(.product("BackgroundSaver", "--finish", "--seconds", "0.1"))
        try await saving.background()
        try await saving.expectSurvival(for: .seconds(1))
        #expect(try await saving.terminate().cause == .terminated)
    }

    @Test("An app that refuses to exit is killed for that")
    func exit() async throws {
        let app = try await SupervisedApp.launch("IgnoresTerm", LaunchSettings(terminate: .milliseconds(300)))
        try await app.ready()
        #expect(try await app.terminate().kill?.event == .processExit)
    }

    @Test("An invalid request is rejected with the reason")
    func refusal() async throws {
        var settings = LaunchSettings()
        settings.readiness = "none"
        let app = try await SupervisedApp.launch(.command("/bin/sleep", "600"), settings)
        let error = await #expect(throws: ExpectationFailure.self) { try await app.send(event: "url") }
        #expect(error?.description.hasPrefix("event url was refused: ") == true, "\(error?.description ?? "")")
        #expect(try await app.kill().cause == .killedOnRequest)
    }

    @Test("A crash is not a kill, and its report is available")
    func crash() async throws {
        let app = try await SupervisedApp.launch(.command("/bin/sh", "-c", "kill -SEGV $$"))
        let end = try await app.termination
        #expect(end.signal == SIGSEGV)
        #expect(end.kill == nil)
        #expect(try end.report.cause == .crashed)
    }

    @Test("An app's output and exit code are available")
    func output() async throws {
        let app = try await SupervisedApp.launch(
            .command("/bin/sh", "-c", "echo out $WORD; echo err >&2; exit 3"),
            LaunchSettings(environment: ["WORD": "x"]))
        let end = try await app.termination
        #expect(end.cause == .exited)
        #expect(end.exitCode == 3)
        #expect(app.output == "out x")
        #expect(app.errors.contains("err"))
    }

    @Test("An app is killed with the last reference to it")
    func forgotten() async throws {
        let process: Pidfd
        do {
            let app = try await SupervisedApp.launch(.command("/bin/sleep", "600"))
            process = try Pidfd(opening: try #require(app.processID))
            // It would warn, and rightly so.
            app.noteAwaited()
        }
        var entry = pollfd(fd: process.descriptor.number, events: Int16(POLLIN), revents: 0)
        #expect(poll(&entry, 1, patienceInMilliseconds) == 1)
    }

    @Test("Parallel tests do not disturb each other")
    func parallel() async throws {
        var settings = LaunchSettings(update: .seconds(2))
        settings.pingInterval = .milliseconds(50)
        // Tests of this suite run one after the other.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.repeats {
                group.addTask { [settings] in
                    let app = try await SupervisedApp.launch(
                        .product("HangMain", "--how", "sleep", "--after", "0.1"), settings)
                    let kill = try await app.expectKill(.ateBadFood, during: .sceneUpdate)
                    #expect(kill.incidents.count == 1)
                    #expect(try kill.report.processID == app.processID)
                }
            }
            try await group.waitForAll()
        }
    }

    /// How many times to repeat: `WATCHDOGD_TEST_REPEATS`, to search for a flaky test.
    private static let repeats = getenv("WATCHDOGD_TEST_REPEATS").flatMap { Int(String(cString: $0)) } ?? 6

    @Test("A mistake in a test is reported in a sentence with a remedy")
    func mistakes() async throws {
        for (program, words) in [
            (Program.product("HealtyApp"), "did you mean 'HealthyApp'?"),
            (.command("/nonexistent/app"), "'/nonexistent/app' is not an executable file"),
            (.command(""), "the program's path is empty"),
            (.command("nosuchcommand"), "nosuchcommand"),
        ] {
            let error = await #expect(throws: TestSetupError.self) { try await SupervisedApp.launch(program) }
            #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
        }
        var settings = LaunchSettings(launch: .milliseconds(300))
        settings.readiness = "channel"
        let silent = try await SupervisedApp.launch(.command("/bin/sleep", "600"), settings)
        let error = await #expect(throws: ExpectationFailure.self) { try await silent.ready(within: .seconds(30)) }
        let text = error?.description ?? ""
        #expect(text.hasPrefix("expected sleep to be ready, but "), "\(text)")
        #expect(text.contains("\nIt never said that it is ready: call Watchdog.ready()"), "\(text)")
    }

    @Test("A test injects a hang into an app that participates, and expects the kill")
    func mainHang() async throws {
        let app = try await SupervisedApp.launch("HealthyApp", LaunchSettings(update: .seconds(2)))
        try await app.ready()
        try await app.inject("main-hang 60s")
        let kill = try await app.expectKill(.ateBadFood, during: .sceneUpdate)
        #expect(try kill.report.mainThread.contains("HangOnDemand.block(for:)"))
    }

    @Test("A hang shorter than the allowance is not a kill")
    func shortHang() async throws {
        let app = try await SupervisedApp.launch("HealthyApp", LaunchSettings(update: .seconds(30)))
        try await app.ready()
        // Much longer than watchdogd may take to notice it.
        try await app.inject("main-hang 2s")
        try await app.expectSurvival(for: .milliseconds(2_100))
        let end = try await app.terminate()
        #expect(end.cause == .terminated)
        #expect(try #require(end.longestHang) >= .milliseconds(100))
    }

    @Test("A failure for a hang that ended by itself has its crash log; without one, it explains how to get it")
    func hangReport() async throws {
        var settings = LaunchSettings(update: .seconds(30))
        settings.hangReports = .milliseconds(250)
        let text = try await failureForHang(settings)
        #expect(text.contains("\nverdict: Main thread "), "\(text)")
        let path = try #require(text.split(separator: "\n").last?.dropFirst("crash log: ".count))
        let log = try CrashLog(reading: String(path))
        #expect(log.mainThread.contains("HangOnDemand.block(for:)"))
        // The directory is kept because the expectation failed.
        try FileManager.default.removeItem(
            at: URL(fileURLWithPath: String(path)).deletingLastPathComponent().deletingLastPathComponent())

        settings.hangReports = .seconds(60)
        let hint = try await failureForHang(settings)
        let words = "\nA hang below 60.0 seconds has no crash log: lower LaunchSettings.hangReports"
        #expect(hint.hasSuffix(words), "\(hint)")
    }

    /// The failure of an app that has hung for three seconds, under a limit of a quarter.
    private func failureForHang(_ settings: LaunchSettings) async throws -> String {
        let app = try await SupervisedApp.launch("HealthyApp", settings)
        try await app.ready()
        try await app.inject("main-hang 3s")
        try await app.expectSurvival(for: .milliseconds(3_500))
        let failure = await #expect(throws: ExpectationFailure.self) {
            try await app.expectHangs(atMost: .milliseconds(250))
        }
        let text = failure?.description ?? ""
        let words = "expected HealthyApp to hang at most 0.25 seconds, but its main loop hung for "
        #expect(text.hasPrefix(words), "\(text)")
        return text
    }

    @Test("A fault that needs preparation, or does not exist, is rejected with a remedy")
    func refusedFault() async throws {
        let app = try await SupervisedApp.launch("HealthyApp")
        try await app.ready()
        for (fault, words) in [("memory 1G", "LaunchSettings.faults"), ("main-hnag 1s", "did you mean main-hang?")] {
            let error = await #expect(throws: ExpectationFailure.self) { try await app.inject(fault) }
            #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
        }
        try await app.terminate()
    }

    @Test("The next runner removes the leftovers of a killed one; files in use or kept files stay")
    func scratch() throws {
        let base = FileManager.default.temporaryDirectory.appendingPathComponent("sweep-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: base, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: base) }
        var locks: [Int32] = []
        defer { for lock in locks { close(lock) } }
        for name in ["killed", "used", "kept"] {
            let folder = base.appendingPathComponent("watchdogd-testing-\(name)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            guard name != "kept" else { continue }
            let lock = open(folder.appendingPathComponent(".lock").path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            if name == "used" { #expect(flock(lock, LOCK_EX | LOCK_NB) == 0) }
            if name == "killed" { close(lock) } else { locks.append(lock) }
        }
        ScratchDirectory.sweep(base.path)
        let left = try FileManager.default.contentsOfDirectory(atPath: base.path).sorted()
        #expect(left == ["watchdogd-testing-kept", "watchdogd-testing-used"])
    }
}

@Suite("Traits", .reapsChildren)
struct TraitTests {
    @Test("A launch allowance in the trait kills", .launch(within: .seconds(2)))
    func launch() async throws {
        let app = try await SupervisedApp.launch(.product("SlowLaunch", "--seconds", "600"))
        try await app.expectKill(.ateBadFood, during: .sceneCreate)
    }
}
