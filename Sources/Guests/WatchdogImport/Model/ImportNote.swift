// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// What happened to a line that an app file cannot say in the same words.
public struct ImportNote: Hashable, Sendable, CustomStringConvertible {
    /// The result of the import of a line.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// A person must decide before the app can run as before; its file has `Enabled=no`.
        case toDo = "to do"
        /// It does not describe an app, so it has no app file.
        case skipped
        /// It is in the app file in a different form, or with a different effect.
        case changed
        /// It is not in the app file.
        case dropped
    }

    /// The result of the import of the line.
    public let kind: Kind
    /// The place of the line.
    public let place: ImportPlace
    /// The note: one sentence without a period.
    public let message: String

    init(kind: Kind, place: ImportPlace, message: String) {
        self.kind = kind
        self.place = place
        self.message = message.singleLine(limit: 4_096)
    }

    /// One line: `file:line: dropped: message`.
    public var description: String { "\(place): \(kind.rawValue): \(message)" }
}

/// A line of an imported file, or the whole file.
public struct ImportPlace: Hashable, Sendable, CustomStringConvertible {
    /// The file's path, as specified by the user.
    public let file: String
    /// The line, counted from 1; nil for the whole file.
    public let line: Int?

    /// Creates a place.
    public init(file: String, line: Int? = nil) {
        self.file = file
        self.line = line
    }

    /// `file:line`, or `file`.
    public var description: String { file.singleLine(limit: 4_096) + (line.map { ":\($0)" } ?? "") }
}

/// The reason why a file cannot be imported.
public struct ImportError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The place of the error.
    public let place: ImportPlace
    /// The error: one sentence without a period.
    public let message: String
    /// Whether the file could not be read at all.
    public let isUnreadable: Bool

    init(_ place: ImportPlace, _ message: String, isUnreadable: Bool = false) {
        self.place = place
        self.message = message.singleLine(limit: 4_096)
        self.isUnreadable = isUnreadable
    }

    /// One line: `file:line: error: message`.
    public var description: String { "\(place): error: \(message)" }
}

extension [ImportNote] {
    /// The notes in order of urgency; within a kind, in the order of files and lines.
    var sorted: [ImportNote] {
        var files: [String: Int] = [:]
        let keyed = enumerated().map { offset, note in
            let kind = ImportNote.Kind.allCases.firstIndex(of: note.kind) ?? 0
            let file = files[note.place.file, default: files.count]
            files[note.place.file] = file
            return (kind, file, note.place.line ?? 0, offset, note)
        }
        return keyed.sorted { ($0.0, $0.1, $0.2, $0.3) < ($1.0, $1.1, $1.2, $1.3) }.map(\.4)
    }
}
