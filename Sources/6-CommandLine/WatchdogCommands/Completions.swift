// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogConfiguration
import WatchdogLaunch
import WatchdogLinux
import WatchdogReport
import WatchdogReportStore
import WatchdogRun

/// Completions that a shell offers for an unfinished word.
///
/// They come from files, because a shell must not wait for a daemon that does not respond.
extension CompletionKind {
    /// Names of configured apps.
    static var appNames: CompletionKind {
        .custom { words, _, _ in directories(words).flatMap(appNames(in:)).sorted() }
    }

    /// Reports: `latest`, and the files in this user's directory.
    static var reports: CompletionKind {
        .custom { words, _, prefix in
            let folder = value(of: "--reports", in: words) ?? Run.defaultReportsDirectory
            let reports = (try? ReportStore(directory: folder).list()) ?? []
            return prefix.isEmpty ? ["latest"] + reports.map(\.path) : reports.map(\.path) + ["latest"]
        }
    }

    /// Users of this machine.
    static var users: CompletionKind { .shellCommand("getent passwd | cut -d : -f 1") }

    /// The configuration directories of the selected daemon, or of the user's and the system's if none is selected.
    private static func directories(_ words: [String]) -> [String] {
        if let directory = value(of: "--config", in: words) { return [directory] }
        let scopes: [DaemonPlaces.Scope] =
            words.contains("--system") ? [.system] : words.contains("--user") ? [.user] : [.user, .system]
        return scopes.compactMap { scope in try? DaemonPlaces(scope: scope).configurationDirectory }
    }

    private static func appNames(in directory: String) -> [String] {
        let files = (try? HostFileSystem().names(in: directory)) ?? []
        return files.filter { $0.hasSuffix(AppName.fileSuffix) }.compactMap { file in
            guard let name = try? AppName(String(file.dropLast(AppName.fileSuffix.count))) else { return nil }
            return name.isTemplate ? nil : name.description
        }
    }

    private static func value(of option: String, in words: [String]) -> String? {
        guard let index = words.lastIndex(of: option), words.indices.contains(index + 1) else { return nil }
        return words[index + 1].isEmpty ? nil : words[index + 1]
    }
}
