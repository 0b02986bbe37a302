// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
package import WatchdogLinux
package import WatchdogPolicy

/// What can be observed of one app from outside: its main thread, who should answer a probe, its memory kills, its working
/// directory.
///
/// Isolation: the loop's thread.
package final class LaunchEvidence {
    private let host: Host
    private let tenant: Tenant
    private let cgroup: Cgroup?
    private let precision: Duration
    package let main: ThreadEvidence
    /// The process that should answer the probe that has not been answered, or its thread, if that is not the main thread.
    package private(set) var server: ServerEvidence?
    /// Whether the search since ``beginSearch()`` has found one.
    private(set) var hasFoundServer = false
    /// Answers to earlier searches do not count.
    private var search = 0
    private var memoryKillNotes = MemoryKillNotes()
    /// The program's working directory at the last check.
    package private(set) var workingDirectory: String?
    /// The faults that were injected so far.
    package var faults: [String] = []

    init(_ host: Host, of tenant: Tenant, cgroup: Cgroup?, update allowance: Duration) {
        self.host = host
        self.tenant = tenant
        self.cgroup = cgroup
        precision = allowance / 100
        main = ThreadEvidence(host, of: tenant, cgroup: cgroup, precision: precision)
    }

    /// Examines the main thread, and who should answer the probe.
    package func inspect() -> Evidence {
        // The report of a failed probe waits for what is asked first.
        let held = server?.thread.inspect()
        if server?.thread.hasObservation == false || server?.process.hasExited == true { server = nil }
        var found = main.inspect()
        found.serverPause = server == nil ? nil : held?.pause
        return found
    }

    /// Examines what the main process left behind; nothing is read by its id, which another process may have by now.
    func inspectLeftovers() -> Evidence { Evidence(state: nil, isFrozen: cgroup?.isFrozen ?? false) }

    // MARK: - Who should answer a probe

    /// Searches for the process that should answer a connection, and follows it until ``forgetServer()``.
    func findServer(of connection: UnansweredConnection) {
        find({ .server(of: $0, for: connection, preferring: $1) }) { [weak self] in self?.follow($0) }
    }

    /// Searches for the process that should answer a command that probes the app, and follows it until ``forgetServer()``.
    func findServer(askedBy command: ExaminedProcess) {
        find({ .server(of: $0, askedBy: command, preferring: $1) }) { [weak self] found in
            // It may not have got so far as to ask anybody; who was meant before counts until its end.
            if let found { self?.follow(found) }
        }
    }

    private func find(
        _ examination: (ExaminedProcess, _ preferred: Int32?) -> Examination<ServingProcess?>,
        then follow: @escaping (ServingProcess?) -> Void
    ) {
        guard let pid = main.pid, let startTime = main.startTime, let examiner = host.examiner else { return }
        let process = ExaminedProcess(id: pid, startTime: startTime, cgroup: cgroup?.path)
        let search = search
        examiner.ask(examination(process, server?.pid), of: tenant) { [weak self] found in
            if self?.search == search { follow(found ?? nil) }
        }
    }

    /// Notes that another command probes the app: who should have answered the one before counts until this one has shown more.
    func beginSearch() {
        search += 1
        hasFoundServer = false
    }

    /// Notes that the command has ended, or is to be ended, without an answer.
    func endSearch() { if hasFoundServer { search += 1 } else { forgetServer() } }

    /// Forgets who should have answered, once there is an answer.
    func forgetServer() {
        search += 1
        server = nil
    }

    private func follow(_ found: ServingProcess?) {
        hasFoundServer = found != nil
        guard let found, found.id != main.pid || found.thread != main.thread else { return forgetServer() }
        if let server, server.pid == found.id, server.thread.startTime == found.startTime,
            server.thread.thread == found.thread
        {
            server.hasAccepted = found.hasAccepted
            return
        }
        server = nil
        guard let process = try? host.system.openProcess(found.id), let stat = ProcessStat.read(found.id),
            stat.startTime == found.startTime
        else { return }
        let thread = ThreadEvidence(host, of: tenant, cgroup: cgroup, precision: precision)
        thread.follow(found.id, startTime: found.startTime, thread: found.thread)
        thread.beginWindow(patience: .zero)
        server = ServerEvidence(process, stat, thread, hasAccepted: found.hasAccepted)
    }

    // MARK: - Surroundings

    /// Notes the memory kills before the launch can have caused any.
    package func launching() { memoryKillNotes.launched(cgroup?.memoryKills, at: .now()) }

    /// Notes the count of memory kills, so that earlier kills are not taken for the app's end.
    func noteMemoryKills() {
        let now = Instant.now()
        guard memoryKillNotes.isDue(at: now) else { return }
        memoryKillNotes.note(cgroup?.memoryKills, at: now)
    }

    /// The number of memory kills in the app's cgroup: in total, and shortly before now.
    var memoryKills: (total: Int, recent: Int?)? {
        cgroup?.memoryKills.map { ($0, memoryKillNotes.recent(of: $0, at: .now())) }
    }

    /// Notes the working directory, which holds a core file and is unknown after the exit.
    package func noteWorkingDirectory(of pid: Int32?) {
        guard let pid else { return }
        workingDirectory = ProcessFacts.workingDirectory(pid) ?? workingDirectory
    }
}

/// A thread of an app, other than its main thread, that should answer a probe: of a process of its own, or of the main process.
///
/// Isolation: the loop's thread.
package final class ServerEvidence {
    package let process: Pidfd
    package let name: String
    package let parent: Int32
    package let thread: ThreadEvidence
    /// Whether it has accepted the probe's connection; if not, it listens.
    var hasAccepted: Bool

    package var pid: Int32 { process.pid }

    init(_ process: Pidfd, _ stat: ProcessStat, _ thread: ThreadEvidence, hasAccepted: Bool) {
        self.process = process
        self.thread = thread
        self.hasAccepted = hasAccepted
        (name, parent) = (stat.name, stat.parent)
    }
}
