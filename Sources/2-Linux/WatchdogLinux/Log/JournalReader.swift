// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc
import WatchdogBase

/// Reads the journal's files: sd-journal(3).
///
/// Does not require a running journald.
struct JournalReader: ~Copyable {
    /// The result of a step back.
    enum Step {
        case entry
        /// An entry from another boot.
        case foreign
        /// There is no earlier entry, or it and all before it are too old.
        case end
    }

    private let journal: OpaquePointer
    /// The IDs under which this boot may appear in the journal.
    private let boots: [String]

    static func tail(of match: JournalMatch, _ limit: LogLimit, directory: String? = nil) -> [PrintedLine] {
        guard let reader = JournalReader(directory: directory), reader.select(match) else { return [] }
        return reader.tail(since: match.since, limit)
    }

    /// Nil if there is no journal or it may not be read.
    init?(directory: String?) {
        var journal: OpaquePointer?
        let result =
            directory.map { sd_journal_open_directory(&journal, $0, 0) }
            ?? sd_journal_open(&journal, Int32(SD_JOURNAL_LOCAL_ONLY))
        guard result >= 0, let journal else { return nil }
        self.journal = journal
        boots = Self.boots(in: journal)
    }

    deinit {
        sd_journal_close(journal)
    }

    // MARK: - What is read

    /// Adds a match for a field, such as `MESSAGE_ID=…`; fields with different names must all match.
    func add(_ field: String) -> Bool {
        sd_journal_add_match(journal, field, field.utf8.count) >= 0
    }

    /// Moves past the newest entry; limits how much of each field is decompressed.
    func begin(fieldBytes limit: Int) -> Bool {
        sd_journal_set_data_threshold(journal, limit)
        return sd_journal_seek_tail(journal) >= 0
    }

    /// Moves to the previous entry, unless it is older than `start`.
    func stepBack(since start: Instant) -> Step {
        guard sd_journal_previous(journal) > 0 else { return .end }
        guard let time = Self.time(ofEntryIn: journal), boots.contains(time.boot) else { return .foreign }
        return Int64(clamping: time.monotonic) >= start.nanoseconds / 1_000 ? .entry : .end
    }

    /// The value of a field; nil if the entry does not have it.
    func field(_ name: String) -> String? {
        var data: UnsafeRawPointer?
        var length = 0
        guard sd_journal_get_data(journal, name, &data, &length) >= 0, let data else { return nil }
        let bytes = UnsafeRawBufferPointer(start: data, count: length)
        return String(decoding: bytes.dropFirst(name.utf8.count + 1), as: UTF8.self)
    }

    // MARK: - Boots

    /// The boot ID of this process's kernel, and that of the newest entry.
    ///
    /// systemd-nspawn gives its container a separate boot ID, which journald sees, by a mount over the kernel's file.
    /// `ProtectKernelTunables=` hides that mount from a unit in the container, which then sees the machine's boot ID.
    private static func boots(in journal: OpaquePointer) -> [String] {
        var boots: [String] = []
        var boot = sd_id128_t()
        if sd_id128_get_boot(&boot) >= 0 { boots.append(text(boot)) }
        var written: UInt64 = 0
        guard sd_journal_seek_tail(journal) >= 0, sd_journal_previous(journal) > 0,
            sd_journal_get_realtime_usec(journal, &written) >= 0, written >= bootTime,
            let newest = time(ofEntryIn: journal), !boots.contains(newest.boot)
        else { return boots }
        return boots + [newest.boot]
    }

    /// When the machine was booted, in microseconds of the wall clock, less a second; earlier entries belong to another
    /// boot.
    private static var bootTime: UInt64 {
        let present = Duration.nanoseconds(readNanoseconds(of: CLOCK_REALTIME))
        return UInt64(max(0, (present - Machine.uptime - .seconds(1)).nanoseconds)) / 1_000
    }

    private static func time(ofEntryIn journal: OpaquePointer) -> (monotonic: UInt64, boot: String)? {
        var monotonic: UInt64 = 0
        var boot = sd_id128_t()
        guard sd_journal_get_monotonic_usec(journal, &monotonic, &boot) >= 0 else { return nil }
        return (monotonic, text(boot))
    }

    private static func text(_ boot: sd_id128_t) -> String {
        withUnsafeBytes(of: boot) { $0.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
    }

    // MARK: - The end of an output

    /// Matches entries from this boot that have one of the fields.
    private func select(_ match: JournalMatch) -> Bool {
        guard !match.fields.isEmpty else { return false }
        for field in match.fields {
            // Matches for the same field name are alternatives.
            guard add(field), boots.allSatisfy({ add("_BOOT_ID=\($0)") }), sd_journal_add_disjunction(journal) >= 0
            else { return false }
        }
        return !boots.isEmpty
    }

    private func tail(since start: Instant, _ limit: LogLimit) -> [PrintedLine] {
        let deadline = Instant.now() + limit.time
        var newestFirst: [PrintedLine] = []
        var bytes = 0
        guard begin(fieldBytes: limit.lineBytes + "MESSAGE=".utf8.count) else { return [] }
        while newestFirst.count < limit.lines, Instant.now() < deadline {
            let step = stepBack(since: start)
            guard step != .end else { break }
            guard step == .entry, let message = field("MESSAGE") else { continue }
            bytes += message.utf8.count
            guard bytes <= limit.bytes else { break }
            var realtime: UInt64 = 0
            let time = sd_journal_get_realtime_usec(journal, &realtime) >= 0 ? Int64(clamping: realtime) : nil
            for line in message.split(separator: "\n").reversed() {
                newestFirst.append(PrintedLine(microseconds: time, text: String(line)))
            }
        }
        return newestFirst.prefix(limit.lines).reversed()
    }
}
