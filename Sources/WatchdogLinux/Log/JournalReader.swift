// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc
import WatchdogPolicy

/// Reads the journal's files: sd-journal(3).
///
/// journald need not run for that.
struct JournalReader: ~Copyable {
    /// What a step back has led to.
    enum Step {
        case entry
        /// An entry of another boot.
        case foreign
        /// Nothing, or an entry that is too old, as all before it are.
        case end
    }

    private let journal: OpaquePointer
    /// The ids that this boot may have in the journal.
    private let boots: [String]

    static func tail(of match: JournalMatch, _ limit: LogLimit, directory: String? = nil) -> [PrintedLine] {
        guard let reader = JournalReader(directory: directory), reader.select(match) else { return [] }
        return reader.tail(since: match.since, limit)
    }

    /// Nil when there is no journal, or it may not be read.
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

    /// Entries that have the field, as in `MESSAGE_ID=…`; of several names, all of them.
    func add(_ field: String) -> Bool {
        sd_journal_add_match(journal, field, field.utf8.count) >= 0
    }

    /// Goes behind the newest entry; of fields that are longer, no more than the limit is even decompressed.
    func begin(fieldBytes limit: Int) -> Bool {
        sd_journal_set_data_threshold(journal, limit)
        return sd_journal_seek_tail(journal) >= 0
    }

    /// Goes to the entry before, which must not be older than `start`.
    func stepBack(since start: Instant) -> Step {
        guard sd_journal_previous(journal) > 0 else { return .end }
        guard let time = Self.time(ofEntryIn: journal), boots.contains(time.boot) else { return .foreign }
        return Int64(clamping: time.monotonic) >= start.nanoseconds / 1_000 ? .entry : .end
    }

    /// A field of the entry; nil when it has none of that name.
    func field(_ name: String) -> String? {
        var data: UnsafeRawPointer?
        var length = 0
        guard sd_journal_get_data(journal, name, &data, &length) >= 0, let data else { return nil }
        let bytes = UnsafeRawBufferPointer(start: data, count: length)
        return String(decoding: bytes.dropFirst(name.utf8.count + 1), as: UTF8.self)
    }

    // MARK: - Boots

    /// That of this process's kernel, and that of the newest entry.
    ///
    /// systemd-nspawn gives its container a boot id of its own by a mount over the kernel's, as journald sees it;
    /// `ProtectKernelTunables=` hides that mount from a unit in it, which sees the machine's.
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

    /// When the machine was booted, in microseconds of the wall clock: an entry from before that is of another boot.
    private static var bootTime: UInt64 {
        var (present, uptime) = (timespec(), timespec())
        clock_gettime(CLOCK_REALTIME, &present)
        clock_gettime(CLOCK_BOOTTIME, &uptime)
        let seconds = UInt64(max(0, present.tv_sec - uptime.tv_sec - 1))
        return seconds * 1_000_000
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

    /// Of this boot, and one of the fields.
    private func select(_ match: JournalMatch) -> Bool {
        guard !match.fields.isEmpty else { return false }
        for field in match.fields {
            // Of fields of one name an entry needs one.
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
