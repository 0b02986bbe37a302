// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux
import WatchdogVerdict

/// Other supervisors of services.
enum Peer: String, CaseIterable {
    case s6
    case runit
    case supervisord
    case systemd

    /// How it is asked to start services.
    var path: String {
        switch self {
        case .s6, .runit: "control FIFOs"
        case .supervisord: "XML-RPC"
        case .systemd: "systemctl"
        }
    }

    /// Why it cannot be measured here; nil if it can.
    var obstacle: String? {
        switch self {
        case .s6: Self.isInstalled(["s6-svscan", "s6-supervise"]) ? nil : "not installed"
        case .runit: Self.isInstalled(["runsvdir", "runsv"]) ? nil : "not installed"
        case .supervisord: Self.isInstalled(["supervisord"]) ? nil : "not installed"
        case .systemd: SystemdContainer.obstacle
        }
    }

    private static func isInstalled(_ programs: [String]) -> Bool { programs.allSatisfy { find($0) != nil } }

    static func find(_ program: String) -> String? {
        ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"]
            .map { "\($0)/\(program)" }.first { access($0, X_OK) == 0 }
    }
}

/// A peer with services that do not run yet.
protocol PeerSession: AnyObject {
    /// Everything that was started for it.
    var stage: PeerStage { get }
    /// Asks for all services; returns when that is done.
    func startAll() throws
    /// Asks for the end of all services.
    func stopAll() throws
    /// What `client.c` is called with to ask for the only service; nil where a client cannot ask.
    var request: [String]? { get }
    /// The command that starts the only service; nil where none was tried.
    var command: [String]? { get }
    /// The process with this number of its own, as the observer knows it.
    func process(_ number: Int32) -> Int32?
    /// Those of the processes that supervise.
    func supervisors() -> [Int32]
}

extension PeerSession {
    var request: [String]? { nil }
    var command: [String]? { nil }

    func stopAll() throws { throw Failure("it cannot be asked to stop a service") }

    func process(_ number: Int32) -> Int32? { number }

    func supervisors() -> [Int32] { stage.processes().filter { !stage.isService($0) } }
}

/// All installed peers, and watchdogd.
final class Peers {
    private let bench: Bench
    private let present: [Peer]
    private var container: SystemdContainer?

    init(_ bench: Bench, on page: inout Page) {
        self.bench = bench
        present = Peer.allCases.filter { peer in
            if let obstacle = peer.obstacle { page.note("\(peer.rawValue): \(obstacle)") }
            return peer.obstacle == nil
        }
    }

    private func session(_ peer: Peer, _ count: Int, mode: String = "") throws -> any PeerSession {
        switch peer {
        case .s6:
            return try FifoSession(
                bench, count, scanner: ["s6-svscan", "-c", "\(count + 16)", "-t", "0"], starter: ["s6-svc", "-u"])
        case .runit: return try FifoSession(bench, count, scanner: ["runsvdir"], starter: ["sv", "up"])
        case .supervisord: return try SupervisordSession(bench, count)
        case .systemd:
            let container = try self.container ?? SystemdContainer(bench)
            self.container = container
            return try SystemdSession(container, count, unit: mode.isEmpty ? "bench" : "bench-\(mode)")
        }
    }

    /// Reports a peer that fails, and continues with the others.
    private func each(_ page: inout Page, _ body: (Peer, inout Page) throws -> Void) {
        for peer in present {
            do {
                try body(peer, &page)
            } catch {
                page.note("\(peer.rawValue): \(error)")
            }
        }
    }

    // MARK: - What is measured

    /// From the request for all services to the last one's first instruction.
    func launch(_ count: Int, repetitions: Int, on page: inout Page) {
        each(&page) { peer, page in
            var sample = Sample()
            for _ in 0..<repetitions {
                let session = try session(peer, count)
                let requested = Instant.now()
                var last = requested
                try session.startAll()
                for _ in 0..<count { last = max(last, try session.stage.nextRecord().time) }
                sample.add(last - requested)
            }
            page.row("\(peer.rawValue), \(peer.path)", sample)
        }
    }

    /// From kill -9 to the next instance's first instruction, of services that have run for long enough to be restarted at
    /// once by those that hold back what has run for less than a second.
    func restart(repetitions: Int, on page: inout Page) {
        var sessions: [(peer: Peer, session: any PeerSession, record: Record, sample: Sample)] = []
        each(&page) { peer, _ in
            let session = try session(peer, 1)
            try session.startAll()
            sessions.append((peer, session, try session.stage.nextRecord(), Sample()))
        }
        var broken: [Peer] = []
        for _ in 0..<repetitions {
            usleep(1_300_000 + .random(in: 0..<200_000))
            for index in sessions.indices where !broken.contains(sessions[index].peer) {
                do {
                    let pid = try sessions[index].session.process(sessions[index].record.pid)
                        .unwrapped(or: "its service has gone")
                    let killed = Instant.now()
                    kill(pid, SIGKILL)
                    sessions[index].record = try sessions[index].session.stage.nextRecord()
                    sessions[index].sample.add(sessions[index].record.time - killed)
                } catch {
                    broken.append(sessions[index].peer)
                    page.note("\(sessions[index].peer.rawValue): \(error)")
                }
            }
        }
        for entry in sessions where !broken.contains(entry.peer) { page.row(entry.peer.rawValue, entry.sample) }
    }

    /// One service of each peer that has a command for it.
    func singles(on page: inout Page) -> [(String, any SingleSession)] {
        var singles: [(String, any SingleSession)] = []
        each(&page) { peer, _ in
            let session = try session(peer, 1, mode: "notify")
            if session.command != nil { singles.append((peer.rawValue, try PeerSingle(session))) }
        }
        return singles
    }

    /// What process 1 of systemd takes of a CPU for services that push; no other peer understands them.
    func pushes(_ count: Int, on page: inout Page) {
        each(&page) { peer, page in
            guard peer == .systemd else { return }
            let session = try session(peer, count, mode: "push")
            try session.startAll()
            for _ in 0..<count { _ = try session.stage.nextRecord() }
            sleep(2)
            let process = try session.supervisors().first.unwrapped(or: "systemd has gone")
            page.row("systemd", count: 1, median: try ProcessorClock(of: process).share(over: .seconds(10)))
        }
    }

    /// The share of memory of all processes that supervise, in MB.
    func memory(_ count: Int, on page: inout Page) {
        each(&page) { peer, page in
            let session = try session(peer, count)
            try session.startAll()
            for _ in 0..<count { _ = try session.stage.nextRecord() }
            sleep(2)
            let supervisors = session.supervisors()
            let megabytes = try supervisors.reduce(0) { try $0 + Machine.proportionalMemory(of: $1) }
            let processes = supervisors.count == 1 ? "" : ", \(supervisors.count) processes"
            page.row("\(count) idle: \(peer.rawValue)\(processes)", count: 1, median: megabytes)
        }
    }
}
