// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// A child of this process, as `/proc` shows it.
public struct ChildProcess: CustomStringConvertible {
    let pid: Int32
    let name: String
    /// As in `/proc/PID/stat`: `Z` for a zombie.
    let state: Character

    /// Its name, its ID, and the problem.
    public var description: String {
        "\(name)[\(pid)], \(state == "Z" ? "a zombie that nobody reaped" : "which still runs (state \(state))")"
    }

    /// Whether it serves every launch and every report of this process until the end.
    var isShared: Bool { state != "Z" && (name == "wd-launcher" || name == "wd-examiner") }

    /// Whether a child of this process is still running, besides those that serve all launches.
    public static var anyRuns: Bool { all.contains { $0.state != "Z" && !$0.isShared } }

    /// All children of all threads: `CONFIG_PROC_CHILDREN` of the kernel, which Debian sets.
    static var all: [ChildProcess] {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return threads.flatMap { thread in
            contents(of: "/proc/self/task/\(thread)/children").split(separator: " ").compactMap { Int32($0) }
        }
        .compactMap(ChildProcess.init)
    }

    /// Nil if it has been reaped.
    private init?(pid: Int32) {
        // `PID (NAME) STATE …`: the name may contain anything, even a parenthesis.
        let stat = Self.contents(of: "/proc/\(pid)/stat")
        guard let opening = stat.firstIndex(of: "("), let closing = stat.lastIndex(of: ")"),
            let state = stat[closing...].dropFirst(2).first
        else { return nil }
        self.pid = pid
        self.name = String(stat[stat.index(after: opening)..<closing])
        self.state = state
    }

    /// Kills and reaps it, so that the next test does not find it.
    func reap() {
        kill(pid, SIGKILL)
        waitpid(pid, nil, Int32(bitPattern: UInt32(__WALL)))
    }

    private static func contents(of path: String) -> String {
        (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    }
}
