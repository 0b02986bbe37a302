// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc
import WatchdogPolicy

/// Reads the journal's files: sd-journal(3).
///
/// journald need not run for that.
struct JournalReader: ~Copyable {
    private let journal: OpaquePointer

    static func tail(of match: JournalMatch, _ limit: LogLimit, directory: String? = nil) -> [PrintedLine] {
        guard let reader = JournalReader(directory: directory), reader.select(match) else { return [] }
        return reader.tail(since: match.since, limit)
    }

    /// Nil when there is no journal, or it may not be read.
    private init?(directory: String?) {
        var journal: OpaquePointer?
        let result =
            directory.map { sd_journal_open_directory(&journal, $0, 0) }
            ?? sd_journal_open(&journal, Int32(SD_JOURNAL_LOCAL_ONLY))
        guard result >= 0, let journal else { return nil }
        self.journal = journal
    }

    deinit {
        sd_journal_close(journal)
    }

    /// Of this boot, and one of the fields.
    private func select(_ match: JournalMatch) -> Bool {
        var boot = sd_id128_t()
        guard sd_id128_get_boot(&boot) >= 0, !match.fields.isEmpty else { return false }
        let bootField = "_BOOT_ID=" + withUnsafeBytes(of: boot) { $0.map(Self.hexadecimal).joined() }
        for field in match.fields {
            guard add(field), add(bootField), sd_journal_add_disjunction(journal) >= 0 else { return false }
        }
        return true
    }

    private func add(_ field: String) -> Bool {
        sd_journal_add_match(journal, field, field.utf8.count) >= 0
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }

    private func tail(since start: Instant, _ limit: LogLimit) -> [PrintedLine] {
        // More is not even decompressed.
        sd_journal_set_data_threshold(journal, limit.lineBytes + "MESSAGE=".utf8.count)
        let deadline = Instant.now() + limit.time
        var newestFirst: [PrintedLine] = []
        var bytes = 0
        guard sd_journal_seek_tail(journal) >= 0 else { return [] }
        while newestFirst.count < limit.lines, Instant.now() < deadline, sd_journal_previous(journal) > 0 {
            var monotonic: UInt64 = 0
            // Nil stands for this boot.
            guard sd_journal_get_monotonic_usec(journal, &monotonic, nil) >= 0 else { continue }
            guard Int64(clamping: monotonic) >= start.nanoseconds / 1_000 else { break }
            guard let message = message() else { continue }
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

    private func message() -> String? {
        var data: UnsafeRawPointer?
        var length = 0
        guard sd_journal_get_data(journal, "MESSAGE", &data, &length) >= 0, let data else { return nil }
        let bytes = UnsafeRawBufferPointer(start: data, count: length)
        return String(decoding: bytes.dropFirst("MESSAGE=".utf8.count), as: UTF8.self)
    }
}
