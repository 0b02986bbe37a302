// SPDX-License-Identifier: Apache-2.0

import WatchdogReport
import WatchdogVerdict

/// The explanation for a main thread that only waits, while another process of the app is stuck.
struct ProcessFault {
    /// Who is at fault.
    let party: Blame.Party
    /// Why, in one sentence without a trailing period.
    let reason: String
    /// What to do.
    let paragraph: String

    /// - Returns: nil when no other process is known to be stuck, or when that does not explain the incident.
    init?(_ linux: LinuxDetails) {
        let findings = linux.findings ?? []
        guard [.blocked, .partlyRunning].contains(linux.verdict.kind),
            let finding = findings.first(where: { $0.kind == .otherProcess }),
            // A probe that fails at once may be wrong: the main thread is in its loop.
            linux.missed?.failure == nil || !findings.contains(where: { $0.kind == .idleEventLoop })
        else { return nil }
        let named = Set(finding.processes ?? [])
        let processes = (linux.processes ?? []).filter { named.contains($0.pid) }
        func areAll(_ condition: (ProcessDetails) -> Bool) -> Bool {
            !processes.isEmpty && processes.allSatisfy(condition)
        }
        reason = finding.clause
        if reason.contains(" is frozen with its cgroup") {
            party = .somebodyElse
            paragraph =
                "The main thread only waits for it. Find who froze the cgroup of that process: docker pause, a backup, a "
                + "job scheduler; writing 0 to its cgroup.freeze, or THAWED to its freezer.state, resumes it."
        } else if areAll({ ["T", "t"].contains($0.state) }) {
            party = .somebodyElse
            paragraph =
                "The main thread only waits for it. Find who sent SIGSTOP or SIGTSTP to that process: a shell's job "
                + "control, a debugger, a script; SIGCONT resumes it."
        } else if areAll({ $0.state == "D" || $0.waits?.first?.servedFileSystem != nil }) {
            party = .machine
            paragraph =
                "The main thread only waits for it. The kernel waits for a device or a file system that does not answer "
                + "that process: see dmesg, iostat and /proc/mounts."
        } else {
            party = .app
            paragraph = FindingAdvice.sentence(for: .otherProcess) ?? ""
        }
    }
}

extension WaitDetails {
    /// The file system of another process or machine that a wait names: `nfs4 files:/x at /mnt` of
    /// `/mnt/a on nfs4 files:/x at /mnt`.
    var servedFileSystem: String? {
        // A lock has a holder, who may keep it although the file system answers.
        guard holder == nil, let place = subject?.firstMatch(of: #/ on (?<mount>[a-z0-9_.]+( [^ ]+)? at \/.*)$/#)
        else { return nil }
        return String(place.mount)
    }
}
