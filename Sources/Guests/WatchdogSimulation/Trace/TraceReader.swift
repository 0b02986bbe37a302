// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Reads a trace from a file of `watchdogd run --trace`, `journalctl -o json`, or `watchdogd events --json`.
public enum TraceReader {
    /// The maximum number of bytes of one line.
    public static let lineLimit = 64 << 10
    /// The maximum number of lines of one file.
    public static let lineCountLimit = 5_000_000
    /// The maximum number of bytes of one file.
    public static let fileLimit = 512 << 20

    private static let newline = UInt8(ascii: "\n")

    /// Reads a file.
    ///
    /// - Parameters:
    ///   - bytes: the whole file.
    ///   - file: its name, for errors.
    ///   - app: the app to read; lines about others are skipped.
    /// - Throws: ``TraceError`` with the file and line for anything that is not a trace or is damaged. An incomplete
    ///   last line is skipped, with a note: the writing program was killed.
    public static func read(_ bytes: [UInt8], file: String, app: String) throws(TraceError) -> Trace {
        guard bytes.count <= fileLimit else {
            throw TraceError("is longer than \(fileLimit >> 20) MiB; use a part of it", in: file)
        }
        var lines = Lines(bytes, file)
        guard let first = try lines.next() else { throw TraceError("is empty", in: file) }
        guard let object = try? FlatObject(first) else { throw foreign(file) }
        if object.has("watchdogdTrace") { return try ownTrace(object, lines, app) }
        if object.has("__REALTIME_TIMESTAMP") { return try JournalTrace.read(object, lines, app) }
        if object.has("event.kind") || object.has("isWithheld") || object.has("missed") {
            return try EventTrace.read(object, lines, app)
        }
        throw foreign(file)
    }

    /// Reads lines about many apps, each with the name of its app and a time in microseconds since 1970.
    ///
    /// - Parameters:
    ///   - keys: the keys of the name and of the time.
    ///   - each: called with every line.
    ///   - add: called with the lines of the app, and their times.
    static func history(
        _ first: FlatObject, _ lines: consuming Lines, of app: String, _ source: Trace.Source,
        keys: (app: String, time: String), each: (FlatObject, Lines, inout TraceBuilder) -> Void = { _, _, _ in },
        add: (FlatObject, Int64, inout TraceBuilder) -> Void
    ) throws(TraceError) -> Trace {
        var builder = TraceBuilder(file: lines.file, source, app: app)
        var others: Set<String> = []
        var object = first
        while true {
            each(object, lines, &builder)
            if let name = object.string(keys.app), name != app {
                if others.count < 100 { others.insert(name) }
            } else if object.has(keys.app), let time = object.integer(keys.time) {
                add(object, time, &builder)
            }
            guard let line = try lines.next() else { break }
            object = try lines.object(line)
        }
        for note in lines.notes { builder.note(note) }
        guard !builder.isEmpty else { throw TraceError.nothing(about: app, others, in: lines.file) }
        return try builder.finish()
    }

    private static func foreign(_ file: String) -> TraceError {
        TraceError(
            "is not a trace: use a file of 'watchdogd run --trace', of 'journalctl -o json', of"
                + " 'watchdogd events --json', a crash log or a launch history", in: file, line: 1)
    }

    private static func ownTrace(
        _ header: FlatObject, _ lines: consuming Lines, _ app: String
    ) throws(TraceError) -> Trace {
        let file = lines.file
        guard let version = header.integer("watchdogdTrace"), version >= 1 else {
            throw TraceError("has no version as \"watchdogdTrace\"", in: file, line: 1)
        }
        guard version <= Trace.version else {
            throw TraceError(
                "was written by a later watchdogd (format \(version), this one reads \(Trace.version))", in: file,
                line: 1)
        }
        var trace = Trace(
            file: file, .trace, app: header.string("app")?.singleLine(limit: 64) ?? app,
            startUSec: header.integer("timeUSec").flatMap { (0...Int64.max / 2).contains($0) ? $0 : nil })
        var later = 0
        var last = Duration.zero
        while let line = try lines.next() {
            let object = try lines.object(line)
            do throws(TraceEvent.LineError) {
                guard let event = try TraceEvent(object) else {
                    later += 1
                    continue
                }
                guard event.at >= last else {
                    throw TraceEvent.LineError(
                        description: "is earlier than the line before it; the lines of a trace are in order of time")
                }
                last = event.at
                trace.events.append(event)
            } catch {
                throw TraceError(error.description, in: file, line: lines.number)
            }
        }
        trace.notes = lines.notes
        if later > 0 { trace.notes.append("\(file): \(later) lines have events that this version does not know") }
        if let first = trace.events.first, !first.beginsLaunch {
            throw TraceError("does not begin with \"launched\"; keep the whole trace", in: file, line: 2)
        }
        return trace
    }

    /// The lines of a file, one at a time, within the limits.
    struct Lines {
        let file: String
        /// The number of the latest line, from 1.
        private(set) var number = 0
        private(set) var notes: [String] = []
        private let bytes: [UInt8]
        private var offset = 0

        init(_ bytes: [UInt8], _ file: String) {
            (self.bytes, self.file) = (bytes, file)
        }

        /// The next line that is not blank; nil at the end.
        mutating func next() throws(TraceError) -> [UInt8]? {
            while offset < bytes.count {
                number += 1
                guard number <= TraceReader.lineCountLimit else {
                    throw TraceError("has more than \(TraceReader.lineCountLimit) lines; use a part of it", in: file)
                }
                let end = bytes[offset...].firstIndex(of: TraceReader.newline)
                let line = bytes[offset..<(end ?? bytes.count)]
                offset = (end ?? bytes.count) + 1
                guard line.count <= TraceReader.lineLimit else {
                    throw TraceError("is longer than \(TraceReader.lineLimit >> 10) KiB", in: file, line: number)
                }
                if line.allSatisfy({ $0 == 0x20 || $0 == 0x0d || $0 == 0x09 }) { continue }
                guard end != nil || (try? FlatObject(Array(line))) != nil || number == 1 else {
                    notes.append("\(file):\(number): the last line is incomplete and left out")
                    return nil
                }
                return Array(line)
            }
            return nil
        }

        func object(_ line: [UInt8]) throws(TraceError) -> FlatObject {
            do throws(FlatObject.SyntaxError) {
                return try FlatObject(line)
            } catch {
                throw TraceError(error.description, in: file, line: number)
            }
        }
    }
}
