// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogConfiguration
import WatchdogLaunch
import WatchdogLinux

extension AppDefinition {
    /// What a launch would not find on this machine; checked before any command of the app runs.
    ///
    /// Omits what this user cannot read, and what depends on the daemon's environment. A template is never launched.
    var pathWarnings: [ConfigurationDiagnostic] {
        guard let program = configuration?.program, configuration?.observed == nil, !name.isTemplate else { return [] }
        var warnings: [ConfigurationDiagnostic] = []
        func warn(_ key: ConfigurationKey, at index: Int? = nil, _ path: String, _ obstacle: String?) {
            guard let obstacle else { return }
            warnings.append(diagnostic(.warning, about: key, at: index, "\(path) \(obstacle) on this machine"))
        }
        func warnOfLinks(_ key: ConfigurationKey, at index: Int? = nil, _ path: String) {
            do throws(LinuxError) {
                _ = try GuardedPath(path)
            } catch {
                guard error.errno == .tooManyLinks else { return }
                warnings.append(diagnostic(.warning, about: key, at: index, "a launch fails: \(error)"))
            }
        }
        if !program.command.ignoresFailure {
            warn(.execStart, program.command.program, Self.obstacle(toProgram: program.command.program, of: program))
        }
        if let directory = program.workingDirectory, !directory.isOptional, case .path(let path) = directory.location {
            warn(.workingDirectory, path, Self.obstacle(toFolder: path))
        }
        for (index, file) in program.environmentFiles.enumerated() where !file.isOptional {
            warn(.environmentFile, at: index, file.pattern, Self.obstacle(toFiles: file.pattern))
            for path in PathPattern(file.pattern).matches { warnOfLinks(.environmentFile, at: index, path) }
        }
        for (key, output) in [
            (ConfigurationKey.standardOutput, program.standardOutput), (.standardError, program.standardError),
        ] {
            guard let path = output.path, let folder = output.folder else { continue }
            warn(key, "the folder \(folder)", Self.obstacle(toFolder: folder))
            warnOfLinks(key, path)
        }
        return warnings
    }

    private static func obstacle(toFolder path: String) -> String? {
        switch Place(path) {
        case .missing: Place.missingWords
        case .there(let mode): mode & S_IFMT == S_IFDIR ? nil : "is not a directory"
        case .unknown: nil
        }
    }

    private static func obstacle(toFiles pattern: String) -> String? {
        let paths = PathPattern(pattern).matches
        guard paths == [pattern] else { return paths.isEmpty ? "matches no file" : nil }
        return Place(pattern) == .missing ? Place.missingWords : nil
    }

    private static func obstacle(toProgram program: String, of settings: ProgramSettings) -> String? {
        guard !program.hasPrefix("/") else { return obstacle(toExecuting: program) }
        let own = settings.environment.last { $0.name == "PATH" }?.value
        // An environment file may set another PATH, and a user's daemon may have another one than this process.
        guard settings.environmentFiles.isEmpty, own != nil || geteuid() == 0 else { return nil }
        let folders = (own ?? LaunchConfiguration.systemPath).split(separator: ":", omittingEmptySubsequences: false)
        let isCertain = folders.allSatisfy { folder in
            let path = "\(folder)/\(program)"
            return folder.hasPrefix("/") && Place(path) != .unknown && obstacle(toExecuting: path) != nil
        }
        return isCertain ? "is not in its PATH" : nil
    }

    private static func obstacle(toExecuting path: String) -> String? {
        switch Place(path) {
        case .missing: return Place.missingWords
        case .unknown: return nil
        case .there(let mode):
            switch mode & S_IFMT {
            case S_IFREG: return mode & 0o111 == 0 ? "is not executable" : nil
            case S_IFDIR: return "is a directory"
            default: return "is not a program"
            }
        }
    }
}

/// What is known of a path.
private enum Place: Equatable {
    case there(mode_t)
    case missing
    case unknown

    static let missingWords = "does not exist"

    init(_ path: String) {
        var status = stat()
        if stat(path, &status) == 0 {
            self = .there(status.st_mode)
        } else {
            self = [ENOENT, ENOTDIR].contains(errno) ? .missing : .unknown
        }
    }
}

extension OutputTarget {
    fileprivate var path: String? {
        switch self {
        case .journal, .inherit, .null: nil
        case .file(let path), .append(let path), .truncate(let path): path
        }
    }

    fileprivate var folder: String? {
        path.flatMap { path in
            path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) }
        }
    }
}
