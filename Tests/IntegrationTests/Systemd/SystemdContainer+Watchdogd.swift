// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import WatchdogBase
import WatchdogLinux
import WatchdogReport

/// An app in `watchdogd list --json`.
struct ListedApp: Decodable, Equatable {
    var name: String
    var state: String
    var pid: Int32?
    var restarts: Int
}

extension SystemdContainer {
    private struct List: Decodable {
        var apps: [ListedApp]
    }

    /// The apps of its watchdogd.
    func apps() throws -> [ListedApp] {
        try JSONDecoder().decode(List.self, from: Data(try shell("watchdogd list --json").utf8)).apps
    }

    func app(_ name: String) throws -> ListedApp? { try apps().first { $0.name == name } }

    /// Waits until an app is in a state.
    @discardableResult
    func app(_ name: String, becomes state: String, within limit: Duration = patience) throws -> ListedApp {
        var latest: ListedApp?
        let isThere = eventually(within: limit) {
            latest = try? app(name)
            return latest?.state == state
        }
        guard let latest, isThere else {
            throw Failure("\(name) is not \(state): \(String(describing: latest))\n\(try log())")
        }
        return latest
    }

    /// Starts watchdogd with exactly these apps: the name, and the text of the file.
    func serve(_ files: [String: String]) throws {
        try shell(
            """
            systemctl stop watchdogd
            systemctl reset-failed watchdogd 2>/dev/null || true
            rm -rf /etc/watchdogd/apps.d/* /var/log/watchdogd/reports/* /etc/systemd/system/watchdogd.service.d
            systemctl daemon-reload
            """)
        for (name, text) in files { try write(text, to: "/etc/watchdogd/apps.d/\(name).app") }
        try shell("systemctl start watchdogd || { journalctl -u watchdogd -n 50 >&2; exit 1; }")
    }

    /// Overrides settings of watchdogd's unit from its next start on.
    func override(_ settings: String) throws {
        try shell("mkdir -p /etc/systemd/system/watchdogd.service.d")
        try write("[Service]\n\(settings)\n", to: "/etc/systemd/system/watchdogd.service.d/test.conf")
        try shell("systemctl daemon-reload")
    }

    /// The ID of watchdogd's process in the container.
    func supervisor() throws -> String { try property("MainPID", of: "watchdogd") }

    /// watchdogd's journal.
    func log() throws -> String { try shell("journalctl --unit watchdogd --boot --output cat --lines 60") }

    /// The command line of every process in the unit's cgroup, watchdogd included, but not the launcher and the
    /// examiners, which watchdogd forks and which execute no program.
    func processes() throws -> [String] {
        try shell(
            """
            find /sys/fs/cgroup/system.slice/watchdogd.service -name cgroup.procs -exec cat {} + 2>/dev/null |
            while read -r pid; do
                parent=$(awk '/^PPid/ { print $2 }' /proc/$pid/status 2>/dev/null)
                [ "$(readlink /proc/$pid/exe)" = "$(readlink /proc/${parent:-0}/exe)" ] ||
                    tr '\\0' ' ' </proc/$pid/cmdline 2>/dev/null || true
                echo
            done
            """
        ).split(separator: "\n").map { String($0).trimmed }.filter { !$0.isEmpty }
    }

    /// The paths of all reports.
    func reports() throws -> [String] {
        names(in: path("/var/log/watchdogd/reports")).filter { $0.hasSuffix(".ips") }
            .map { "/var/log/watchdogd/reports/\($0)" }
    }

    func report(_ inside: String) throws -> Report { try ReportCoding.decode(contents(of: path(inside)) ?? []) }

    /// Waits until there are this many reports.
    func reports(count: Int, within limit: Duration = patience) throws -> [String] {
        var paths: [String] = []
        let isThere = eventually(within: limit) {
            paths = (try? reports()) ?? []
            return paths.count >= count
        }
        guard isThere else { throw Failure("\(paths.count) reports instead of \(count)\n\(try log())") }
        return paths
    }
}

/// The file of an app that runs a command.
func appFile(_ command: String, app: String = "", watchdog: String = "", restart: String = "") -> String {
    "[App]\nExecStart=\(command)\n\(app)\n[Watchdog]\n\(watchdog)\n[Restart]\n\(restart)\n"
}
