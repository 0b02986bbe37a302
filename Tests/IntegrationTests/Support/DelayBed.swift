// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogControl
import WatchdogLinux

/// A daemon with apps that are pinged, one that hangs on request, and one that answers just in time.
final class DelayBed {
    /// How much longer the longest turn of the loop may be than without a delay.
    ///
    /// A quiet machine needs less than 5 ms; operations that others delay take seconds.
    private static let mostTurns = 10.0
    /// The longest turn of the same test without a delay, of a user's daemon and of the system's.
    private static let idleUserTurn = Result { try idleTurn(.user) }
    private static let idleSystemTurn = Result { try idleTurn(.system) }
    private static let ping = Duration.milliseconds(100)
    private static let update = Duration.milliseconds(600)
    private static let peerCount = 50

    /// The delayed daemon.
    enum Mode: String, Sendable {
        /// The machine's daemon, which runs as root.
        case system
        /// An ordinary user's daemon, even if the tests run as root.
        case user
        /// The daemon of the user who runs the tests.
        case ownUser
    }

    let scratch: Scratch
    let mode: Mode
    /// A command that turns root's tests into an ordinary user; empty if they are one, or the daemon is the system's.
    private let asUser: [String]
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    private(set) var service: Service!
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    private var client: ControlClient!
    /// Programs that must live as long as the delay.
    private var kept: [Program] = []
    private var undoing: [() -> Void] = []
    /// The servers of file systems that never answer one operation, by folder.
    private var silentServers: [String: Program] = [:]

    init(_ scratch: Scratch, _ mode: Mode = .system) throws {
        self.scratch = scratch
        self.mode = mode
        asUser =
            mode != .user || !hasAllRights
            ? [] : ["setpriv", "--reuid", attackingUser, "--regid", attackingUser, "--clear-groups", "--inh-caps=-all"]
        try Self.compile(["-O1", "-pthread", "\(subjects)/peer.c"], to: scratch["peer"])
    }

    deinit { endDelays() }

    /// Ends the delays, first those that block processes in the kernel.
    func endDelays() {
        for program in kept { try? program.send(SIGTERM) }
        for undo in undoing.reversed() { undo() }
        for program in kept { _ = try? program.end() }
        kept = []
        undoing = []
    }

    static func compile(_ arguments: [String], to path: String) throws {
        let compiler = try Program(["cc", "-o", path] + arguments)
        let status = try compiler.end()
        guard status == .exited(code: 0) else { throw Failure(compiler.text(.errors)) }
    }

    /// Starts the daemon, and waits until every peer answers.
    ///
    /// - Parameters:
    ///   - apps: its other apps, which are not launched.
    ///   - wrapper: a command that finally executes watchdogd.
    func start(
        _ apps: [String: String] = [:], wrapper: [String] = [], environment: [String: String] = [:]
    ) throws {
        try giveFolders()
        var all = apps
        for index in 0..<Self.peerCount { all["peer-\(index)"] = app("steady") }
        all["late"] = app("late \((Self.update / 3).milliseconds)")
        all["hanging"] = app("hang")
        service = try Service(
            all, options: [], environment: environment, wrapper: wrapper + asUser, scratch: scratch,
            isSystem: mode == .system)
        client = try service.client
        let peers = Set(all.keys).subtracting(apps.keys)
        guard
            try eventually({
                try client.list().apps.allSatisfy { !peers.contains($0.name) || $0.state == .running }
            })
        else { throw Failure("the peers do not run: \(try client.list().apps)\n\(service.program.text(.errors))") }
    }

    /// Whether the daemon can have this mode: an ordinary user may not be able to enter root's checkout.
    var isPossible: Bool {
        get throws {
            try asUser.isEmpty
                || Program(asUser + ["test", "-x", product("watchdogd"), "-a", "-r", "\(subjects)/wd.py"]).end()
                    == .exited(code: 0)
        }
    }

    /// Gives an ordinary user the folders that the daemon writes to.
    private func giveFolders() throws {
        guard !asUser.isEmpty, let user = getpwnam(attackingUser)?.pointee else { return }
        for name in ["runtime", "apps"] where !scratch.exists(name) { _ = try scratch.makeDirectory(name, mode: 0o700) }
        for path in [scratch.path] + ["runtime", "apps", "reports"].map({ scratch[$0] }) {
            chown(path, user.pw_uid, user.pw_gid)
        }
    }

    func app(_ mode: String, isEnabled: Bool = true) -> String {
        """
        [App]
        ExecStart=\(scratch["peer"]) \(mode)
        Enabled=\(isEnabled ? "yes" : "no")
        [Watchdog]
        Ping=\(Self.ping.milliseconds)ms
        Update=\(Self.update.milliseconds)ms
        [Restart]
        Policy=never
        """
    }

    /// Keeps a program until the end, when it is asked to exit.
    @discardableResult
    func keep(_ program: Program) -> Program {
        kept.append(program)
        return program
    }

    /// Registers an action for the end.
    func atEnd(_ undo: @escaping () -> Void) { undoing.append(undo) }

    /// Mounts a file system of one file that answers everything but one operation.
    func mountSilent(_ operation: String, at name: String, holding text: String = "") throws -> String {
        if !scratch.exists("silent-fuse") {
            try Self.compile(["-O1", "\(subjects)/silent-fuse.c"], to: scratch["silent-fuse"])
        }
        let folder = try scratch.makeDirectory(name)
        let server = keep(
            try Program([scratch["silent-fuse"], folder, operation] + (text.isEmpty ? [] : [text])))
        atEnd { umount2(folder, 2) }
        // Nobody is asked before it is mounted.
        let isMounted = eventually {
            String(decoding: contents(of: "/proc/self/mounts") ?? [], as: UTF8.self).contains(" \(folder) ")
                || server.hasEnded
        }
        guard isMounted, !server.hasEnded else { throw Failure("no FUSE: \(server.text(.errors))") }
        silentServers[folder] = server
        return folder
    }

    /// Waits until the server of such a file system has read a request that it will not answer.
    ///
    /// A thread in `request_wait_answer` alone may be waiting for another request, which is answered in a moment.
    func awaitSilence(in folder: String) throws {
        guard let server = silentServers[folder] else { throw Failure("no silent file system in \(folder)") }
        try server.line("silent")
    }

    /// Requests a launch, which may take long or fail.
    func launch(_ name: String) throws {
        keep(try Program([product("watchdogd"), "launch", "--no-wait", name, "--control", scratch["control"]]))
    }

    func isRunning(_ name: String) throws -> Bool {
        try client.list().apps.contains { $0.name == name && $0.state == .running }
    }

    func pid(of name: String) throws -> Int32 {
        guard let pid = try client.list().apps.first(where: { $0.name == name })?.pid else {
            throw Failure("\(name) does not run: \(service.program.text(.errors))")
        }
        return pid
    }

    /// Makes one app hang, and checks that it is killed in time, nobody else is, and the loop kept turning.
    func expectSupervision(_ what: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let turn = try supervise(what, sourceLocation)
        let idle = try (mode == .system ? Self.idleSystemTurn : Self.idleUserTurn).get()
        #expect(turn < idle * Self.mostTurns, "\(what): \(idle) without it", sourceLocation: sourceLocation)
    }

    private static func idleTurn(_ mode: Mode) throws -> Duration {
        let bed = try DelayBed(Scratch(), mode)
        try bed.start()
        let turn = try bed.supervise("nothing", #_sourceLocation)
        try bed.end()
        return turn
    }

    /// - Returns: the longest turn of the loop.
    private func supervise(_ what: String, _ sourceLocation: SourceLocation) throws -> Duration {
        // The delay must have taken effect.
        poll(nil, 0, 200)
        let before = try client.list().apps
        let hanging = try pid(of: "hanging")
        let began = Instant.now()
        kill(hanging, SIGUSR1)
        let isKilled = eventually { kill(hanging, 0) != 0 }
        let duration = Instant.now() - began
        #expect(isKilled, "\(service.program.text(.errors))", sourceLocation: sourceLocation)
        #expect(duration > Self.update - Self.ping, sourceLocation: sourceLocation)
        #expect(duration < Self.update + Self.ping + .seconds(4), sourceLocation: sourceLocation)
        // The delay continues; an app that answers survives.
        poll(nil, 0, 500)
        let after = try client.list().apps
        for app in before where app.name.hasPrefix("peer-") || app.name == "late" {
            let now = after.first { $0.name == app.name }
            #expect(now?.pid == app.pid && now?.lastIncident == nil, "\(app.name)", sourceLocation: sourceLocation)
        }
        let turn = try client.describeDaemon().longestTurn.duration
        print(
            "delay \(what), \(mode): killed after \(duration.milliseconds) ms, longest iteration "
                + "\(turn.seconds * 1000) ms")
        return turn
    }

    /// Ends the delays, and then the daemon.
    func end(sourceLocation: SourceLocation = #_sourceLocation) throws {
        endDelays()
        client = nil
        try service.end(sourceLocation: sourceLocation)
    }
}
