// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc
public import WatchdogPolicy

/// What systemd-coredump has written to the journal about a process: systemd-coredump(8), coredumpctl(1).
public struct CoredumpEntry: Sendable {
    /// `MESSAGE_ID` of its entries: `SD_MESSAGE_COREDUMP` of sd-messages.h.
    public static let messageID = "fc2e22bc6ee647b68b6ab5d4d19e2d10"

    private static let textBytes = 4 << 20
    private static let entryLimit = 64

    /// Its text, which has the stacks.
    public let message: String
    /// The signal, where it says so.
    public let signal: Int32?
    /// The file that holds the core.
    public let file: String?

    /// The latest entry about a process; waits for it.
    ///
    /// Not for the loop's thread.
    ///
    /// - Parameters:
    ///   - process: the process.
    ///   - user: whose rights it had.
    ///   - start: when it was launched: an older entry is about another one.
    ///   - limit: how long to wait for the entry.
    ///   - directory: the journal's files; nil for this machine's.
    public static func find(
        process: Int32, user: UInt32, since start: Instant, within limit: Duration, directory: String? = nil
    ) -> CoredumpEntry? {
        let deadline = Instant.now() + limit
        while true {
            if let entry = look(process, user, start, directory) { return entry }
            guard Instant.now() < deadline else { return nil }
            usleep(100_000)
        }
    }

    private static func look(
        _ process: Int32, _ user: UInt32, _ start: Instant, _ directory: String?
    ) -> CoredumpEntry? {
        var journal: OpaquePointer?
        let result =
            directory.map { sd_journal_open_directory(&journal, $0, 0) }
            ?? sd_journal_open(&journal, Int32(SD_JOURNAL_LOCAL_ONLY))
        guard result >= 0, let journal else { return nil }
        defer { sd_journal_close(journal) }
        sd_journal_set_data_threshold(journal, textBytes)
        for match in ["MESSAGE_ID=\(messageID)", "COREDUMP_PID=\(process)"] {
            guard sd_journal_add_match(journal, match, match.utf8.count) >= 0 else { return nil }
        }
        guard sd_journal_seek_tail(journal) >= 0 else { return nil }
        for _ in 0..<entryLimit {
            guard sd_journal_previous(journal) > 0 else { return nil }
            var monotonic: UInt64 = 0
            // Nil stands for this boot.
            guard sd_journal_get_monotonic_usec(journal, &monotonic, nil) >= 0 else { continue }
            guard Int64(clamping: monotonic) >= start.nanoseconds / 1_000 else { return nil }
            guard isTrusted(journal, user), let message = field("MESSAGE", journal) else { continue }
            return CoredumpEntry(
                message: message, signal: field("COREDUMP_SIGNAL", journal).flatMap { Int32($0) },
                file: field("COREDUMP_FILENAME", journal))
        }
        return nil
    }

    /// Whether an entry, which anybody may write, is of somebody who may be believed.
    ///
    /// By what journald itself has found out: of root, of systemd-coredump's unit, or of the user whom it is about, whose
    /// rights systemd-coredump takes before it reads the core.
    private static func isTrusted(_ journal: OpaquePointer, _ user: UInt32) -> Bool {
        let sender = field("_UID", journal)
        if sender == "0" || sender == "\(user)" { return true }
        return field("_SYSTEMD_UNIT", journal)?.hasPrefix("systemd-coredump@") == true
    }

    private static func field(_ name: String, _ journal: OpaquePointer) -> String? {
        var data: UnsafeRawPointer?
        var length = 0
        guard sd_journal_get_data(journal, name, &data, &length) >= 0, let data else { return nil }
        let bytes = UnsafeRawBufferPointer(start: data, count: length)
        return String(decoding: bytes.dropFirst(name.utf8.count + 1), as: UTF8.self)
    }
}
