// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A command that has no executable program.
public struct ExecutableLookupError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Why a command cannot be executed.
    public enum Reason: Hashable, Sendable {
        /// No such file, neither under the given name nor in any directory of the search path.
        case notFound
        /// The name is that of a directory.
        case isDirectory
        /// The file exists, but may not be executed or inspected.
        case permissionDenied
        /// The name is that of something else, such as a socket or a device.
        case notARegularFile
    }

    /// The command as given.
    public let command: String
    /// The closest match; nil when there was none.
    public let candidate: String?
    /// Why the candidate cannot be executed.
    public let reason: Reason

    /// "redis: not found in /usr/bin:/bin", "/tmp: is a directory".
    public var description: String {
        let subject = candidate ?? command
        switch reason {
        case .notFound where command.contains("/"): return "\(command): no such file"
        case .notFound: return "\(command): command not found"
        case .isDirectory: return "\(subject): is a directory"
        case .permissionDenied: return "\(subject): permission denied"
        case .notARegularFile: return "\(subject): is not a regular file"
        }
    }

    /// The exit code with which shells report the reason: 127 for a missing command, otherwise 126.
    public var shellCode: Int32 { reason == .notFound ? 127 : 126 }

    /// The exit code of sysexits.h: EX_NOPERM or EX_NOINPUT.
    public var sysexit: Int32 { reason == .permissionDenied ? 77 : 66 }
}

/// Finds the program file of a command, as a shell does.
///
/// A name with a slash is a file relative to the working directory. Any other name is looked up in the directories of
/// the search path; an empty entry means the working directory. A file that may not be executed does not end the
/// search. Permissions are checked with the supervisor's own credentials: whether the app's user may execute the file
/// is known only when it is executed.
///
/// - Parameters:
///   - command: The command's name or path.
///   - path: The search path: `PATH` in the environment in which the program will run.
///   - workingDirectory: The directory in which the program will start; nil for the supervisor's.
public func resolveExecutable(
    _ command: String,
    path: String,
    workingDirectory: String? = nil
) throws(ExecutableLookupError) -> String {
    guard !command.isEmpty else { throw ExecutableLookupError(command: command, candidate: nil, reason: .notFound) }
    if command.utf8.contains(UInt8(ascii: "/")) {
        guard let reason = obstacle(command, in: workingDirectory) else { return command }
        throw ExecutableLookupError(command: command, candidate: nil, reason: reason)
    }
    var closest: (candidate: String, reason: ExecutableLookupError.Reason)?
    for directory in path.split(separator: ":", omittingEmptySubsequences: false) {
        let candidate = directory.isEmpty ? "./\(command)" : "\(directory)/\(command)"
        guard let reason = obstacle(candidate, in: workingDirectory) else { return candidate }
        if closest == nil, reason != .notFound { closest = (candidate, reason) }
    }
    throw ExecutableLookupError(
        command: command,
        candidate: closest?.candidate,
        reason: closest?.reason ?? .notFound
    )
}

private func obstacle(_ file: String, in directory: String?) -> ExecutableLookupError.Reason? {
    let path = directory.map { file.hasPrefix("/") ? file : "\($0)/\(file)" } ?? file
    var information = stat()
    guard stat(path, &information) == 0 else {
        return Errno.current == .permissionDenied ? .permissionDenied : .notFound
    }
    switch information.st_mode & S_IFMT {
    case S_IFREG: return isExecutable(path) ? nil : .permissionDenied
    case S_IFDIR: return .isDirectory
    default: return .notARegularFile
    }
}

private func isExecutable(_ path: String) -> Bool {
    if faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0 { return true }
    // The file is not to blame: glibc uses faccessat2(2), which the seccomp profiles of older container engines refuse.
    return Errno.current.rawValue == EPERM && access(path, X_OK) == 0
}
