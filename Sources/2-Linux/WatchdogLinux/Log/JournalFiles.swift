// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc
public import WatchdogBase

/// The value of a field in a journal entry.
public enum JournalValue: Hashable, Sendable {
    /// The entry does not have the field.
    case absent
    /// Its bytes, as far as the limit allows.
    case bytes([UInt8])
    /// The journal's file is damaged there, or compressed in an unknown way.
    case unreadable(Errno)

    /// The value as text; nil if there is none.
    public var text: String? {
        if case .bytes(let bytes) = self { String(decoding: bytes, as: UTF8.self) } else { nil }
    }
}

/// Journal files and the position in them, newest entry first: sd-journal(3).
///
/// Files that cannot be read are left out and listed in ``problems``. Does not require a running journald.
///
/// Isolation: one thread at a time.
public final class JournalFiles {
    /// Which files are read.
    public enum Place: Hashable, Sendable {
        /// This machine's journal.
        case local
        /// A file, or a folder with files, whose subfolders may have more.
        case path(String)
    }

    /// A file or folder that cannot be read.
    public struct Problem: Error, Hashable, Sendable {
        /// Its path; empty for this machine's journal.
        public let path: String
        /// The error number; `ENODATA` if there is no journal file, `EBADMSG` and others if it is damaged or none.
        public let errno: Errno
    }

    /// What was left out.
    public private(set) var problems: [Problem]
    private let journal: OpaquePointer
    private var threshold = -1
    /// The size of all files at the beginning.
    private var size: UInt64 = 0

    /// Opens the files.
    ///
    /// - Throws: ``Problem`` if there is none that can be read.
    public init(_ place: Place) throws(Problem) {
        var journal: OpaquePointer?
        switch place {
        case .local:
            problems = Self.hiddenFiles
            let result = sd_journal_open(&journal, Int32(SD_JOURNAL_LOCAL_ONLY))
            guard result >= 0, let journal else { throw Problem(path: "", errno: Errno(rawValue: -result)) }
            self.journal = journal
            // From here on, deinit closes the journal, also after an error.
            guard sd_journal_has_runtime_files(journal) > 0 || sd_journal_has_persistent_files(journal) > 0 else {
                throw Problem(path: "", errno: Self.isHidden ? .permissionDenied : Errno(rawValue: ENODATA))
            }
        case .path(let path):
            var (paths, problems) = try Self.files(at: path)
            for path in paths {
                if let problem = Self.problem(of: path) { problems.append(problem) }
            }
            let unreadable = Set(problems.map(\.path))
            paths.removeAll(where: unreadable.contains)
            guard !paths.isEmpty else {
                throw problems.first ?? Problem(path: path, errno: Errno(rawValue: ENODATA))
            }
            let result = Self.open(paths, &journal)
            guard result >= 0, let journal else { throw Problem(path: path, errno: Errno(rawValue: -result)) }
            self.journal = journal
            self.problems = problems
        }
    }

    deinit {
        sd_journal_close(journal)
    }

    /// This machine as `_MACHINE_ID` has it: the contents of `/etc/machine-id`, which must not leave the machine.
    public static var machine: String? {
        var identifier = sd_id128_t()
        guard sd_id128_get_machine(&identifier) >= 0 else { return nil }
        return withUnsafeBytes(of: identifier) {
            $0.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
    }

    // MARK: - Files

    /// Whether this machine has a journal that this user may not read.
    private static var isHidden: Bool {
        let folders: [String] = ["/run/log/journal", "/var/log/journal"]
        return !hiddenFiles.isEmpty
            || folders.contains { access("\($0)/\(machine ?? "")", R_OK) != 0 && errno == EACCES }
    }

    /// This machine's journals that this user may not read, while their own may be readable.
    private static var hiddenFiles: [Problem] {
        guard let machine else { return [] }
        return ["/run/log/journal", "/var/log/journal"].compactMap { folder in
            let path = "\(folder)/\(machine)/system.journal"
            return access(path, R_OK) != 0 && errno == EACCES ? Problem(path: path, errno: .permissionDenied) : nil
        }
    }

    private static func open(_ paths: [String], _ journal: inout OpaquePointer?) -> Int32 {
        var pointers: [UnsafePointer<CChar>?] = paths.map { UnsafePointer(strdup($0)) } + [nil]
        defer { for pointer in pointers { free(UnsafeMutablePointer(mutating: pointer)) } }
        return sd_journal_open_files(&journal, &pointers, 0)
    }

    /// Why a file cannot be read; opening several at once would fail for all because of one.
    private static func problem(of path: String) -> Problem? {
        var journal: OpaquePointer?
        let result = open([path], &journal)
        if result >= 0 { sd_journal_close(journal) }
        return result < 0 ? Problem(path: path, errno: Errno(rawValue: -result)) : nil
    }

    /// The journal files of a folder and its subfolders, or the one that is named.
    private static func files(at path: String) throws(Problem) -> (paths: [String], problems: [Problem]) {
        var status = stat()
        guard stat(path, &status) == 0 else { throw Problem(path: path, errno: .current) }
        guard status.st_mode & S_IFMT == S_IFDIR else { return ([path], []) }
        var paths: [String] = []
        var problems: [Problem] = []
        guard let names = names(in: path) else { throw Problem(path: path, errno: .current) }
        for name in names {
            let entry = "\(path)/\(name)"
            guard lstat(entry, &status) == 0 else { continue }
            if status.st_mode & S_IFMT == S_IFREG, isJournal(name) { paths.append(entry) }
            guard status.st_mode & S_IFMT == S_IFDIR else { continue }
            guard let inner = Self.names(in: entry) else {
                problems.append(Problem(path: entry, errno: .current))
                continue
            }
            for name in inner where isJournal(name) && lstat("\(entry)/\(name)", &status) == 0 {
                if status.st_mode & S_IFMT == S_IFREG { paths.append("\(entry)/\(name)") }
            }
        }
        return (paths, problems)
    }

    /// `.journal~` are files that were not closed properly.
    private static func isJournal(_ name: String) -> Bool { name.hasSuffix(".journal") || name.hasSuffix(".journal~") }

    /// Sorted; nil if the folder cannot be read, and `errno` says why.
    private static func names(in path: String) -> [String]? {
        guard let stream = opendir(path) else { return nil }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(validatingCString: $0) }
            }
            if let name, !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }

    // MARK: - Entries

    /// Moves past the newest entry, and selects those in which a field has one of some values.
    public func begin(matching name: String, _ values: some Sequence<String>) {
        sd_journal_flush_matches(journal)
        for value in values { sd_journal_add_match(journal, "\(name)=\(value)", 0) }
        sd_journal_seek_tail(journal)
        size = usage
    }

    /// Moves to the next older entry; false if there is none.
    public func previous() -> Bool { sd_journal_previous(journal) > 0 }

    /// Whether entries could not be reached since ``begin(matching:_:)``, because a file is damaged.
    ///
    /// libsystemd drops such a file without an error, and its size with it.
    public var isDamaged: Bool { usage < size }

    private var usage: UInt64 {
        var bytes: UInt64 = 0
        return sd_journal_get_usage(journal, &bytes) >= 0 ? bytes : 0
    }

    /// Moves to an entry; false if it is no longer there.
    public func seek(_ cursor: String) -> Bool {
        sd_journal_flush_matches(journal)
        return sd_journal_seek_cursor(journal, cursor) >= 0 && sd_journal_next(journal) > 0
            && sd_journal_test_cursor(journal, cursor) > 0
    }

    /// When journald received the entry.
    public var time: WallTime {
        var microseconds: UInt64 = 0
        guard sd_journal_get_realtime_usec(journal, &microseconds) >= 0 else { return WallTime(seconds: 0) }
        return WallTime(nanosecondsSince1970: Int64(clamping: min(microseconds, .max / 1_000) * 1_000))
    }

    /// What identifies the entry; empty if the journal's file is damaged there.
    public var cursor: String {
        var text: UnsafeMutablePointer<CChar>?
        guard sd_journal_get_cursor(journal, &text) >= 0, let text else { return "" }
        defer { free(text) }
        return String(cString: text)
    }

    /// The value of a field of this entry, at most `limit` bytes of it.
    public func value(_ name: String, limit: Int) -> JournalValue {
        let prefix = name.utf8.count + 1
        limitData(to: limit + prefix)
        var data: UnsafeRawPointer?
        var length = 0
        let result = sd_journal_get_data(journal, name, &data, &length)
        guard result >= 0, let data, length >= prefix else {
            return result == -ENOENT ? .absent : .unreadable(Errno(rawValue: -result))
        }
        return .bytes(Array(UnsafeRawBufferPointer(start: data, count: length)[prefix...].prefix(limit)))
    }

    private func limitData(to bytes: Int) {
        guard threshold != bytes else { return }
        threshold = bytes
        // Nothing beyond it is decompressed.
        sd_journal_set_data_threshold(journal, bytes)
    }

    /// The values of several fields of this entry as text, at most `limit` bytes of each; nil for those it lacks.
    ///
    /// One pass over the entry, up to the last required field: a search for each field would pass the same data once
    /// for each, and decompress what is large.
    public func texts(_ names: JournalFieldNames, limit: Int) -> [String?] {
        limitData(to: limit + JournalFieldNames.longest + 1)
        var texts = [String?](repeating: nil, count: names.count)
        var missing = names.required
        var data: UnsafeRawPointer?
        var length = 0
        sd_journal_restart_data(journal)
        while missing > 0, sd_journal_enumerate_data(journal, &data, &length) > 0, let start = data {
            guard let sign = memchr(start, Int32(UInt8(ascii: "=")), min(length, JournalFieldNames.longest + 1)) else {
                continue
            }
            let count = UnsafeRawPointer(sign) - start
            guard let index = names.index(of: UnsafeRawBufferPointer(start: start, count: count)), texts[index] == nil
            else { continue }
            let value = UnsafeRawBufferPointer(start: start, count: length)[(count + 1)...].prefix(limit)
            texts[index] = String(decoding: value, as: UTF8.self)
            if index < names.required { missing -= 1 }
        }
        return texts
    }
}
