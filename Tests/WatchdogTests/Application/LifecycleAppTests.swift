// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogWire

@Suite("Apps with a lifecycle, as a supervisor sees them", .reapsChildren)
struct LifecycleAppTests {
    private let scratch = ScratchFolder()

    private func saver(_ arguments: String..., variables: [String] = []) -> AppProcess {
        AppProcess(
            "BackgroundSaver",
            arguments: ["--database", "\(scratch.path)/library"] + arguments,
            variables: ["XDG_STATE_HOME=\(scratch.path)"] + variables
        )
    }

    private func send(_ app: AppProcess, _ build: (inout SupervisorMessage) -> Void) {
        var message = SupervisorMessage()
        build(&message)
        #expect(app.channel.send(message))
    }

    /// Reads until a message matches; nil if the app exits or falls silent first.
    private func receive(_ app: AppProcess, until isWanted: (ClientMessage) -> Bool) -> [ClientMessage]? {
        var messages: [ClientMessage] = []
        while let message = app.channel.receive() {
            messages.append(message)
            if isWanted(message) { return messages }
        }
        return nil
    }

    private func launch(_ app: AppProcess) {
        let said = receive(app) { $0.isReady }
        #expect(said?.first?.hello?.hasLifecycle == true)
        #expect(said?.contains { $0.isFirstFrame } == true)
        let marks = said?.flatMap(\.signposts) ?? []
        #expect(marks.map(\.name) == ["open", "open"])
        #expect(marks.allSatisfy { $0.isOnMainThread })
        #expect(app.nextLine() == "BackgroundSaver: launched")
        #expect(app.nextLine() == "BackgroundSaver: active")
    }

    private func goToBackground(_ app: AppProcess) -> [ClientMessage] {
        send(app) { ($0.transition, $0.backgroundTime) = (.init(to: .background, id: 1), .seconds(30)) }
        let said = receive(app) { $0.stateDone == 1 } ?? []
        #expect(app.nextLine() == "BackgroundSaver: background")
        return said
    }

    /// The main loop answers on the first thread.
    private func expectAnswer(_ app: AppProcess) {
        send(app) { $0.ping = 77 }
        let answer = receive(app) { $0.pong == 77 }?.last
        #expect(answer != nil)
        #expect(answer?.thread == nil)
    }

    private func terminate(_ app: AppProcess) {
        send(app) { $0.isTerminating = true }
        #expect(receive(app) { $0.isStopping } != nil)
        #expect(app.waitForExit() == 0)
        #expect(app.text(from: app.errors, within: .zero) == "")
    }

    @Test("an app that finishes ends its task by itself, and its signposts enclose the work")
    func finish() {
        let app = saver("--finish", "--seconds", "0.1")
        launch(app)
        #expect(goToBackground(app).flatMap(\.tasksBegun) == [.init(id: 1, name: "Saving library")])
        expectAnswer(app)
        #expect(receive(app) { $0.tasksEnded == [1] } != nil)
        terminate(app)
        #expect(app.text(from: app.output).hasSuffix("BackgroundSaver: ends\n"))
    }

    @Test("an app that expires properly stops and ends its task in its handler")
    func expire() {
        let app = saver("--expire")
        launch(app)
        #expect(goToBackground(app).flatMap(\.tasksBegun).count == 1)
        expectAnswer(app)
        send(app) { $0.isExpiring = true }
        #expect(receive(app) { $0.tasksEnded == [1] } != nil)
        terminate(app)
    }

    @Test("apps that overrun or leak keep their task open when the time is over", arguments: ["--overrun", "--leak"])
    func open(option: String) {
        let app = saver(option)
        launch(app)
        #expect(goToBackground(app).flatMap(\.tasksBegun).count == 1)
        send(app) { ($0.isExpiring, $0.ping) = (true, 5) }
        let said = receive(app) { $0.pong == 5 }
        #expect(said?.flatMap(\.tasksEnded) == [])
        send(app) { $0.event = .init(kind: "probe", id: 1) }
        #expect(receive(app) { $0.eventDone == 1 }?.flatMap(\.tasksEnded) == [])
        terminate(app)
    }

    @Test("an app that hoards begins too many tasks, all of them before it is in the background")
    func hoard() {
        let app = saver("--hoard")
        launch(app)
        let tasks = goToBackground(app).flatMap(\.tasksBegun)
        #expect(tasks.map(\.id) == Array(1...1100))
        terminate(app)
    }

    @Test("an app that locks holds the lock in the background, and releases it in the foreground")
    func lock() {
        let app = saver("--lock")
        launch(app)
        #expect(goToBackground(app).flatMap(\.tasksBegun) == [])
        #expect(app.nextLine() == "BackgroundSaver: locked")
        #expect(locks(of: app.process) > 0)
        send(app) { $0.transition = .init(to: .foreground, id: 2) }
        #expect(receive(app) { $0.stateDone == 2 } != nil)
        #expect(locks(of: app.process) == 0)
        terminate(app)
    }

    @Test("events go to the delegate, with their payload")
    func event() {
        let app = saver()
        launch(app)
        send(app) { $0.event = .init(kind: "url", id: 1, payload: "page:7") }
        #expect(receive(app) { $0.eventDone == 1 } != nil)
        #expect(app.nextLine() == "BackgroundSaver: event url page:7")
        terminate(app)
    }

    @Test("an app that is launched into the background knows it")
    func background() {
        let app = saver(variables: ["WATCHDOG_STATE=background", "WATCHDOG_EVENT=push"])
        #expect(receive(app) { $0.isReady } != nil)
        #expect(app.nextLine() == "BackgroundSaver: launched in the background")
        send(app) { $0.event = .init(kind: "push", id: 1) }
        #expect(receive(app) { $0.eventDone == 1 } != nil)
        #expect(app.nextLine() == "BackgroundSaver: event push ")
        terminate(app)
    }

    @Test("without a supervisor an app goes to the foreground, and SIGTERM ends it properly")
    func alone() {
        let app = AppProcess(
            "BackgroundSaver", arguments: [], variables: ["TMPDIR=\(scratch.path)"], isSupervised: false)
        for line in ["launched", "active"] { #expect(app.nextLine() == "BackgroundSaver: \(line)") }
        kill(app.process, SIGTERM)
        #expect(app.nextLine() == "BackgroundSaver: ends")
        #expect(app.waitForExit() == 0)
        #expect(ScratchFolder.names(in: scratch.path) == [])
    }

    @Test("under systemd an app sends READY=1, signs of life and STOPPING=1")
    func systemd() {
        let socket = NotifySocket(NotifySocket.uniqueName("@"))
        let variables = ["NOTIFY_SOCKET=\(socket.name)", "WATCHDOG_USEC=20000", "TMPDIR=\(scratch.path)"]
        let app = AppProcess("BackgroundSaver", arguments: [], variables: variables, isSupervised: false)
        var (isReady, signs, isStopping) = (false, 0, false)
        while !isReady || signs < 5, let message = socket.receive() {
            isReady = isReady || message.isReady
            signs += message.watchdog == .alive ? 1 : 0
        }
        #expect(isReady && signs >= 5)
        kill(app.process, SIGTERM)
        while !isStopping, let message = socket.receive() { isStopping = message.isStopping }
        #expect(isStopping)
        #expect(app.waitForExit() == 0)
    }

    @Test("SlowExit is as slow as requested, on its main thread")
    func slowExit() {
        let app = AppProcess("SlowExit", arguments: ["--seconds", "0.2"], variables: ["HOME=\(scratch.path)"])
        #expect(receive(app) { $0.isReady } != nil)
        expectAnswer(app)
        #expect(app.nextLine() == "SlowExit: ready")
        send(app) { $0.isTerminating = true }
        #expect(receive(app) { $0.isStopping } != nil)
        send(app) { $0.ping = 1 }
        #expect(app.nextLine() == "SlowExit: ending")
        #expect(app.nextLine() == "SlowExit: 512 entries written back")
        #expect(app.waitForExit() == 0)
        #expect(app.channel.drain().allSatisfy { $0.pong == nil })
    }

    /// The file locks that a process currently holds, as listed by proc_locks(5).
    private func locks(of process: pid_t) -> Int {
        guard let file = fopen("/proc/locks", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        var count = 0
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let words = text.split(separator: " ")
            if words.count > 4, words[4] == "\(process)" { count += 1 }
        }
        return count
    }
}
