// SPDX-License-Identifier: Apache-2.0

import Glibc

/// What the kernel does with the memory image of a process killed by a signal: core(5), `kernel.core_pattern`.
public enum CorePattern: Hashable, Sendable {
    /// Writes a file.
    case file(CoreFileName)
    /// Pipes it to this program.
    case program(String)
    /// Discards it, or sends it somewhere it cannot be retrieved from.
    case nothing

    /// The current setting.
    public static func current() -> CorePattern {
        let pattern = Procfs.line("/proc/sys/kernel/core_pattern") ?? "core"
        return CorePattern(pattern, addsProcess: Procfs.line("/proc/sys/kernel/core_uses_pid") == "1")
    }

    /// Parses the setting.
    ///
    /// - Parameters:
    ///   - pattern: `kernel.core_pattern`.
    ///   - addsProcess: `kernel.core_uses_pid`.
    public init(_ pattern: String, addsProcess: Bool) {
        switch pattern.first {
        case "|":
            let program = pattern.dropFirst().drop { $0 == " " }.prefix { $0 != " " }
            self = .program(String(program))
        // A Unix socket, since Linux 6.16.
        case "@": self = .nothing
        case nil: self = addsProcess ? .file(CoreFileName("", addsProcess: true)) : .nothing
        default: self = .file(CoreFileName(pattern, addsProcess: addsProcess))
        }
    }
}

/// The path of a core file, as `kernel.core_pattern` describes it.
public struct CoreFileName: Hashable, Sendable {
    private enum Piece: Hashable, Sendable {
        case text(String)
        case process
        case user
        /// What is unknown afterward: the thread's name, the time, the signal and the like.
        case anything
    }

    private var pieces: [Piece] = []

    init(_ pattern: String, addsProcess: Bool) {
        var text = ""
        var hasProcess = false
        var rest = pattern[...]
        func flushed() -> [Piece] { text.isEmpty ? [] : [.text(text)] }
        while let character = rest.popFirst() {
            guard character == "%" else {
                text.append(character)
                continue
            }
            switch rest.popFirst() {
            case "%": text.append("%")
            case "p", "P":
                hasProcess = true
                pieces += flushed() + [.process]
                text = ""
            case "u":
                pieces += flushed() + [.user]
                text = ""
            case "c", "C", "d", "e", "E", "f", "F", "g", "h", "i", "I", "s", "t":
                pieces += flushed() + [.anything]
                text = ""
            // The kernel drops unknown specifiers.
            case nil: break
            default: break
            }
        }
        pieces += flushed()
        if addsProcess, !hasProcess { pieces += [.text("."), .process] }
    }

    /// The folder of a process's core, and the pattern of its file name.
    ///
    /// - Parameters:
    ///   - process: the process ID.
    ///   - user: the user that the process ran as.
    ///   - directory: the working directory of the process.
    /// - Returns: nil when the folder's own name is unknown afterward.
    func place(process: Int32, user: UInt32, directory: String) -> (folder: String, name: CoreNamePattern)? {
        var parts: [[String?]] = [[""]]
        for piece in pieces {
            switch piece {
            case .text(let text):
                let lines = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
                parts[parts.count - 1].append(lines[0])
                for line in lines.dropFirst() { parts.append([line]) }
            case .process: parts[parts.count - 1].append("\(process)")
            case .user: parts[parts.count - 1].append("\(user)")
            case .anything: parts[parts.count - 1].append(nil)
            }
        }
        let name = CoreNamePattern(pieces: parts.removeLast())
        var folder: [String] = []
        for part in parts {
            guard !part.contains(nil) else { return nil }
            folder.append(part.compactMap(\.self).joined())
        }
        guard !parts.isEmpty else { return (directory, name) }
        guard folder != [""] else { return ("/", name) }
        let path = folder.joined(separator: "/")
        return (path.hasPrefix("/") ? path : "\(directory)/\(path)", name)
    }
}

/// A file name of which some parts are unknown.
struct CoreNamePattern: Hashable {
    /// Nil stands for any text.
    let pieces: [String?]

    func matches(_ name: String) -> Bool {
        Self.matches(name[...], pieces[...])
    }

    private static func matches(_ name: Substring, _ pieces: ArraySlice<String?>) -> Bool {
        guard let piece = pieces.first else { return name.isEmpty }
        let rest = pieces.dropFirst()
        if let piece { return name.hasPrefix(piece) && matches(name.dropFirst(piece.count), rest) }
        if rest.allSatisfy({ $0?.isEmpty ?? true }) { return true }
        return name.indices.contains { matches(name[$0...], rest) }
    }
}
