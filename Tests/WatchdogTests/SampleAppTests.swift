// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogWire

@Suite("Sample apps, as a supervisor sees them", .reapsChildren)
struct SampleAppTests {
    private func launch(_ app: AppProcess) {
        #expect(app.channel.receive()?.hello?.process == app.process)
        #expect(app.channel.receive()?.isReady == true)
    }

    private func expectAnswer(_ app: AppProcess, _ nonce: UInt64) {
        app.channel.send(SupervisorMessage(ping: nonce))
        let answer = app.channel.receive()
        #expect(answer?.pong == nonce)
        #expect(answer?.thread == nil, "Watchdog.run() answers on the first thread")
    }

    private func terminate(_ app: AppProcess) {
        var message = SupervisorMessage()
        message.isTerminating = true
        app.channel.send(message)
    }

    @Test("HealthyApp becomes ready, answers on its first thread and exits with 0 on SIGTERM")
    func healthy() {
        let app = AppProcess("HealthyApp")
        launch(app)
        #expect(app.nextLine() == "HealthyApp: ready")
        for nonce in 1...5 as ClosedRange<UInt64> { expectAnswer(app, nonce) }
        kill(app.process, SIGTERM)
        #expect(app.channel.receive()?.isStopping == true)
        #expect(app.waitForExit() == 0)
    }

    @Test("HealthyApp exits with 0 on the supervisor's request, and by itself after a time")
    func healthyEnds() {
        let asked = AppProcess("HealthyApp")
        launch(asked)
        terminate(asked)
        #expect(asked.waitForExit() == 0)
        #expect(AppProcess("HealthyApp", "--run-for", "0.01s").waitForExit() == 0)
    }

    @Test("SlowLaunch sends hello immediately, and answers only when it is ready")
    func slowLaunch() {
        let app = AppProcess("SlowLaunch", "--seconds", "0.2")
        #expect(app.channel.receive()?.hello != nil)
        app.channel.send(SupervisorMessage(ping: 1))
        #expect(app.channel.receive()?.isReady == true)
        #expect(app.channel.receive()?.pong == 1)
        #expect(app.nextLine() == "SlowLaunch: launching")
        #expect(app.nextLine() == "SlowLaunch: ready, 2400 rows")
    }

    @Test(
        "HangMain becomes ready and then never answers again",
        arguments: [
            ("sleep", nil), ("semaphore", "downloader"), ("deadlock", "indexer"), ("spin", nil), ("network", "server"),
            ("filelock", nil), ("dns", nil),
        ] as [(String, String?)]
    )
    func hangMain(way: String, thread: String?) {
        let app = AppProcess("HangMain", "--how", way, "--after", "0.05")
        launch(app)
        if let thread { #expect(eventually { app.threadNames.contains(thread) }) }
        if way == "filelock" { #expect(eventually { app.children.count == 1 }) }
        // It hangs when a ping stays unanswered; until then each one is answered, late on a starved machine.
        var nonce: UInt64 = 0
        let isSilent = eventually {
            nonce += 1
            app.channel.send(SupervisorMessage(ping: nonce))
            return app.channel.receive(within: .seconds(1)) == nil && app.channel.receive(within: .zero) == nil
        }
        #expect(isSilent)
        #expect(app.text(from: app.errors, within: .zero) == "")
    }

    @Test("IgnoresTerm keeps answering, whatever the request")
    func ignoresTerm() {
        let app = AppProcess("IgnoresTerm")
        launch(app)
        kill(app.process, SIGTERM)
        terminate(app)
        expectAnswer(app, 1)
        #expect(app.nextLine() == "IgnoresTerm: ready")
        kill(app.process, SIGTERM)
        expectAnswer(app, 2)
    }

    @Test("ForkingApp leaves processes in other groups and sessions, without the channel")
    func forkingApp() throws {
        let app = AppProcess("ForkingApp", "--exit")
        #expect(app.channel.receive()?.hello != nil)
        let lines = [app.nextLine(), app.nextLine()].compactMap(\.self)
        let processes = lines.compactMap { $0.split(separator: " ").last.flatMap { pid_t($0) } }
        defer { for process in processes where process > 1 { kill(process, SIGKILL) } }
        #expect(lines.map { $0.prefix { $0 != ":" } } == ["own process group", "own session"])
        #expect(app.waitForExit() == 0)
        try #require(processes.count == 2)
        #expect(getpgid(processes[0]) == processes[0])
        #expect(getsid(processes[0]) == getsid(0))
        #expect(getsid(processes[1]) != getsid(0))
        for process in processes { #expect(kill(process, 0) == 0) }
        // The other end is closed although both are alive.
        #expect(isReadable(app.channel.supervisor))
        #expect(app.channel.receive() == nil)
    }

    @Test("ForkingApp answers pings if it stays")
    func forkingAppStays() {
        let app = AppProcess("ForkingApp")
        #expect(app.channel.receive()?.hello != nil)
        #expect(app.channel.receive()?.isReady == true)
        let lines = [app.nextLine(), app.nextLine()].compactMap(\.self)
        let processes = lines.compactMap { $0.split(separator: " ").last.flatMap { pid_t($0) } }
        defer { for process in processes where process > 1 { kill(process, SIGKILL) } }
        #expect(app.nextLine() == "ForkingApp: ready")
        expectAnswer(app, 1)
    }

    @Test(
        "a wrong command line is one clear line and exit code 64",
        arguments: [
            ["HealthyApp", "--nonsense"], ["HealthyApp", "--run-for"], ["HealthyApp", "--run-for", "-1"],
            ["SlowLaunch"], ["SlowLaunch", "--seconds", "soon"], ["HangMain"], ["HangMain", "--how", "magic"],
            ["HangMain", "--how", "sleep", "--after", "nan"], ["IgnoresTerm", "x"], ["ForkingApp", "--stay"],
            ["SlowExit"], ["SlowExit", "--seconds", "-1"], ["BackgroundSaver", "--hide"],
            ["BackgroundSaver", "finish"],
            ["BackgroundSaver", "--seconds", "x"], ["BackgroundSaver", "--database"],
        ]
    )
    func usage(command: [String]) {
        let app = AppProcess(command[0], arguments: Array(command.dropFirst()))
        let complaint = app.text(from: app.errors)
        #expect(complaint.hasPrefix("\(command[0]): "))
        #expect(complaint.hasSuffix(" (try --help)\n"))
        #expect(complaint.count { $0 == "\n" } == 1)
        #expect(app.waitForExit() == 64)
        #expect(app.channel.receive() == nil)
    }

    @Test(
        "help goes to standard output",
        arguments: [
            "HealthyApp", "SlowLaunch", "HangMain", "IgnoresTerm", "ForkingApp", "SlowExit", "BackgroundSaver",
        ]
    )
    func help(name: String) {
        let app = AppProcess(name, "--help")
        #expect(app.text(from: app.output).hasPrefix("usage: \(name)"))
        #expect(app.waitForExit() == 0)
    }
}
