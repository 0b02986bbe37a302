// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WatchdogBase
import WatchdogImport
import WatchdogLaunch
import WatchdogLinux

/// App files that are about to be written, after they were shown.
struct ImportedFiles {
    private let files: [(name: String, text: String)]
    private let directory: String

    init(_ apps: [ImportedApp], directory: String) {
        self.directory = directory
        files = apps.map { ($0.fileName, $0.text) }
    }

    private var paths: [String] {
        let prefix = directory.hasSuffix("/") ? directory : "\(directory)/"
        return files.map { prefix + $0.name }
    }

    /// Writes all files, or none if one exists or the answer is no.
    func write(asks: Bool, replaces: Bool) throws {
        guard HostFileSystem().isDirectory(directory) else {
            StandardError.say("there is no folder \(directory); nothing was written; create it: mkdir -p \(directory)")
            throw ExitCode(73)
        }
        let existing = paths.filter { access($0, F_OK) == 0 }
        if !replaces, let first = existing.first {
            let others = existing.count > 1 ? " and \(existing.count - 1) more" : ""
            StandardError.say("\(first)\(others): exists already; nothing was written; --force replaces it")
            throw ExitCode(73)
        }
        if asks { try ask(existing) }
        do throws(LinuxError) {
            try AtomicFile.write(
                files.map { ($0.name, Array($0.text.utf8)) }, in: directory, replacing: replaces)
        } catch {
            // Somebody else took a name: the files before it are there.
            StandardError.say(error.errno == .fileExists ? "\(error)" : "\(error); nothing was written")
            throw ExitCode(73)
        }
        for path in paths { StandardError.say("wrote \(path)") }
        StandardError.say("stop these programs where they run now before watchdogd launches them")
    }

    private func ask(_ existing: [String]) throws {
        let replaced = existing.isEmpty ? "" : ", replacing \(existing.count)"
        let number = files.count.counted("file")
        try Question.ask("Write \(number) to \(directory)\(replaced)?", otherwise: "nothing was written")
    }
}
