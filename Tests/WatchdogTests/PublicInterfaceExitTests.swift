// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import TestSupport
import Testing
import WatchdogWire

@testable import Watchdog

/// Each test has its own process, because an app starts once and from its environment.
@Suite("The library as an app uses it")
struct PublicInterfaceExitTests {
    /// A supervisor's preparations before it starts an app.
    private static func offer(_ channel: Channel) {
        setenv(Wire.Environment.channel, "\(channel.app)", 1)
        setenv(Wire.Environment.notifySocket, "@watchdog-test-nobody", 1)
    }

    @Test("starting takes the channel out of the environment, greets and answers pings")
    func start() async {
        await #expect(processExitsWith: .success) {
            let channel = Channel()
            PublicInterfaceExitTests.offer(channel)
            #expect(!Watchdog.isSupervised)
            Watchdog.start()
            #expect(Watchdog.isSupervised)
            #expect(getenv(Wire.Environment.channel) == nil)
            #expect(getenv(Wire.Environment.notifySocket) != nil)
            #expect(fcntl(channel.app, F_GETFD) == FD_CLOEXEC)
            #expect(channel.receive()?.hello?.process == getpid())
            channel.send(SupervisorMessage(ping: 42))
            let answer = channel.receive()
            #expect(answer?.pong == 42)
            #expect(answer?.thread != nil, "an async main leaves the main queue to a thread that is not the first")
        }
    }

    @Test("starting twice is harmless, and earlier messages are sent with the greeting")
    func startTwice() async {
        await #expect(processExitsWith: .success) {
            let channel = Channel()
            PublicInterfaceExitTests.offer(channel)
            Watchdog.status("early")
            Watchdog.ready()
            Watchdog.start()
            Watchdog.start()
            #expect(throws: Watchdog.AttachError.self) { try Watchdog.attach() }
            let first = channel.receive()
            #expect(first?.hello != nil)
            #expect(first?.isReady == true)
            #expect(first?.status == "early")
            Watchdog.extend(by: .seconds(2), progress: "1 of 2")
            let extended = channel.receive()
            #expect(extended?.timeoutExtension == .seconds(2))
            #expect(extended?.progress == "1 of 2")
            Watchdog.summary("sum")
            #expect(channel.receive()?.summary == "sum")
            Watchdog.stopping()
            #expect(channel.receive()?.isStopping == true)
            #expect(channel.receive(within: .zero) == nil)
        }
    }

    @Test("the termination request reaches the handler on the main queue")
    func terminate() async {
        await #expect(processExitsWith: .exitCode(7)) {
            let channel = Channel()
            PublicInterfaceExitTests.offer(channel)
            Watchdog.onTerminate {
                dispatchPrecondition(condition: .onQueue(.main))
                exit(7)
            }
            Watchdog.start()
            var message = SupervisorMessage()
            message.isTerminating = true
            channel.send(message)
            _ = channel.receive()
            #expect(!isReadable(channel.supervisor), "it exits before it says more")
        }
    }

    @Test("SIGTERM reaches the handler too, even without a supervisor")
    func signal() async {
        await #expect(processExitsWith: .exitCode(7)) {
            Watchdog.start()
            Watchdog.onTerminate { exit(7) }
            #expect(eventually { isHandled(SIGTERM) })
            kill(getpid(), SIGTERM)
            // The handler exits during this wait.
            _ = eventually { false }
        }
    }

    @Test("a request that arrives both ways is handled once")
    func bothWays() async {
        await #expect(processExitsWith: .success) {
            let channel = Channel()
            PublicInterfaceExitTests.offer(channel)
            Watchdog.onTerminate { Watchdog.status("handled") }
            Watchdog.start()
            _ = channel.receive()
            #expect(eventually { isHandled(SIGTERM) })
            var message = SupervisorMessage(ping: 1)
            message.isTerminating = true
            kill(getpid(), SIGTERM)
            for _ in 1...3 { channel.send(message) }
            var (answers, statuses): (Int, [String]) = (0, [])
            while answers < 3 || statuses.isEmpty, let message = channel.receive() {
                answers += message.pong == 1 ? 1 : 0
                statuses += [message.status].compactMap(\.self)
            }
            #expect(answers == 3)
            #expect(statuses == ["handled"])
            #expect(channel.receive(within: .milliseconds(20)) == nil)
        }
    }

    @Test("SIGTERM is left alone with a foreign loop")
    func signalAndAttach() async {
        await #expect(processExitsWith: .signal(SIGTERM)) {
            Watchdog.onTerminate { exit(7) }
            let link = try Watchdog.attach()
            Watchdog.onTerminate { exit(7) }
            #expect(!isHandled(SIGTERM))
            kill(getpid(), SIGTERM)
            // Another thread may receive the signal, so this one must wait for the exit.
            withExtendedLifetime(link) { _ = eventually { false } }
        }
    }

    @Test("without a handler, neither a termination request nor the loss of the supervisor has an effect")
    func noHandler() async {
        await #expect(processExitsWith: .success) {
            let channel = Channel()
            PublicInterfaceExitTests.offer(channel)
            Watchdog.start()
            _ = channel.receive()
            var message = SupervisorMessage(ping: 1)
            message.isTerminating = true
            channel.send(message)
            #expect(channel.receive()?.pong == 1)
            channel.hangUp()
            for _ in 0..<100 { Watchdog.status("anyone?") }
            #expect(!Watchdog.isSupervised)
        }
    }

    @Test("a foreign loop waits on a descriptor and answers itself")
    func attach() async {
        await #expect(processExitsWith: .success) {
            let channel = Channel()
            PublicInterfaceExitTests.offer(channel)
            let link = try Watchdog.attach()
            Watchdog.start()
            #expect(throws: Watchdog.AttachError.self) { try Watchdog.attach() }
            _ = channel.receive()
            let descriptor = try #require(link.descriptor)
            #expect(link.timeout == nil)
            #expect(link.pollTimeout == -1)
            channel.send(SupervisorMessage(ping: 9))
            #expect(isReadable(descriptor))
            #expect(!isReadable(channel.supervisor, within: .milliseconds(20)), "nobody else answers")
            #expect(link.service().isEmpty)
            #expect(channel.receive()?.pong == 9)
            // The number is not fixed: a process that is delayed in between may send the last one immediately.
            let isHeldBack = eventually {
                for _ in 0..<100 { Watchdog.status("chatter") }
                return link.timeout != nil
            }
            #expect(isHeldBack)
            let timeout = try #require(link.timeout)
            #expect(timeout <= .milliseconds(100))
            #expect((0...100).contains(link.pollTimeout))
            channel.hangUp()
            #expect(isReadable(descriptor))
            #expect(link.service() == [.disconnected])
            #expect(link.descriptor == nil)
            #expect(link.pollTimeout == -1)
            #expect(fcntl(descriptor, F_GETFD) >= 0, "the number stays taken as long as the link")
        }
    }

    @Test("a foreign loop pushes signs of life under systemd")
    func attachUnderSystemd() async {
        await #expect(processExitsWith: .success) {
            let socket = NotifySocket(NotifySocket.uniqueName("@"))
            setenv(Wire.Environment.notifySocket, socket.name, 1)
            setenv(Wire.Environment.watchdogMicroseconds, "3600000000", 1)
            setenv(Wire.Environment.watchdogProcess, "\(getpid())", 1)
            let link = try Watchdog.attach()
            #expect(link.descriptor == nil)
            #expect(link.timeout == .zero)
            #expect(link.pollTimeout == 0)
            #expect(link.service().isEmpty)
            #expect(socket.receive()?.watchdog == .alive)
            let timeout = try #require(link.timeout)
            #expect(timeout > .seconds(1700) && timeout <= .seconds(1800))
            #expect((1_700_000...1_800_000).contains(link.pollTimeout))
        }
    }

    @Test("under plain systemd the main queue pushes signs of life")
    func systemd() async {
        await #expect(processExitsWith: .success) {
            let socket = NotifySocket(NotifySocket.uniqueName("@"))
            setenv(Wire.Environment.notifySocket, socket.name, 1)
            setenv(Wire.Environment.watchdogMicroseconds, "20000", 1)
            Watchdog.start()
            Watchdog.ready()
            var (isReady, signs) = (false, 0)
            while !isReady || signs < 5, let message = socket.receive() {
                isReady = isReady || message.isReady
                signs += message.watchdog == .alive ? 1 : 0
            }
            #expect(isReady && signs >= 5)
        }
    }

    @Test("without a supervisor the library has no effect")
    func alone() async {
        await #expect(processExitsWith: .success) {
            for name in [Wire.Environment.channel, Wire.Environment.notifySocket] { unsetenv(name) }
            Watchdog.start()
            Watchdog.ready()
            Watchdog.extend(by: .seconds(1), progress: "x")
            #expect(!Watchdog.isSupervised)
            #expect(throws: Watchdog.AttachError.self) { try Watchdog.attach() }
        }
    }
}
