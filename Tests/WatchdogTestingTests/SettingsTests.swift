// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport
import Testing

@testable import WatchdogTesting

@Suite("The settings of a launch", .reapsChildren)
struct SettingsTests {
    @Test("With reportsOnly, an app survives an exhausted allowance, which has a crash log")
    func reportsOnly() async throws {
        var settings = LaunchSettings(update: .seconds(2))
        settings.reportsOnly = true
        let app = try await SupervisedApp.launch("HealthyApp", settings)
        try await app.ready()
        // It hangs for as long as necessary: on a busy machine, the allowance is extended.
        try await app.inject("main-hang 60s")
        try await app.wait(for: "reported") { $0.incidents.isEmpty ? nil : () }
        let end = try await app.kill()
        #expect(end.cause == .killedOnRequest)
        #expect(end.incidents.map(\.isEnforced) == [false])
        #expect(end.incidents.first?.event == .sceneUpdate)
        #expect(try end.report.mainThread.contains("HangOnDemand.block(for:)"))
    }

    @Test("An app runs in workingDirectory; without it, in the test's directory")
    func workingDirectory() async throws {
        let own = FileManager.default.currentDirectoryPath
        let elsewhere = own == "/usr" ? "/etc" : "/usr"
        for (directory, output) in [(nil, own), (elsewhere, elsewhere)] {
            var settings = LaunchSettings()
            settings.workingDirectory = directory
            let app = try await SupervisedApp.launch(.command("/bin/pwd"), settings)
            #expect(try await app.termination.exitCode == 0)
            #expect(app.output == output)
        }
    }

    @Test("timeScale shortens allowances, including the launch's default of 20 s")
    func timeScale() async throws {
        let app = try await SupervisedApp.launch(
            .product("SlowLaunch", "--seconds", "600"), LaunchSettings(timeScale: 0.1))
        let kill = try await app.expectKill(.ateBadFood, during: .sceneCreate)
        let path = try kill.report.path
        let report = try String(contentsOfFile: path, encoding: .utf8)
        // scene-create has the time that the execution of the program has left.
        let allowance = report.firstMatch(of: /time allowance of ([0-9.]+) seconds/).flatMap { Double($0.1) }
        #expect(try #require(allowance) <= 2)
    }

    @Test("timeScale keeps the precision: watchdogd multiplies the given ping interval")
    func unscaledPings() {
        var settings = LaunchSettings(timeScale: 0.5)
        settings.pingInterval = .milliseconds(100)
        #expect(settings.options == ["--ping", "200000000ns", "--time-scale", "0.5"])
    }

    @Test("limits explains why an app has no cgroup of its own, and is empty if it has one")
    func limits() async throws {
        let app = try await SupervisedApp.launch(.command("/bin/sleep", "600"))
        func cgroups(of process: Int32) throws -> String {
            try String(contentsOfFile: "/proc/\(process)/cgroup", encoding: .utf8)
        }
        let hasOwn = try cgroups(of: try #require(app.processID)) != cgroups(of: getpid())
        #expect(app.limits.count == (hasOwn ? 0 : 1), "\(app.limits)")
        #expect(app.limits.allSatisfy { $0.hasPrefix("no cgroup: ") }, "\(app.limits)")
        try await app.kill()
    }

    @Test("Limits that watchdogd reports are listed in order")
    func toldLimits() {
        let journal = AppJournal()
        for reason in ["no cgroup: a", "b"] { journal.take(Array(#"{"limited":{"reason":"\#(reason)"}}"#.utf8)) }
        #expect(journal.history.limits == ["no cgroup: a", "b"])
    }
}
