// SPDX-License-Identifier: Apache-2.0

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
        guard let reader = JournalReader(directory: directory),
            reader.add("MESSAGE_ID=\(messageID)"), reader.add("COREDUMP_PID=\(process)"),
            reader.begin(fieldBytes: textBytes)
        else { return nil }
        for _ in 0..<entryLimit {
            let step = reader.stepBack(since: start)
            guard step != .end else { return nil }
            guard step == .entry, isTrusted(reader, user), let message = reader.field("MESSAGE") else { continue }
            return CoredumpEntry(
                message: message, signal: reader.field("COREDUMP_SIGNAL").flatMap { Int32($0) },
                file: reader.field("COREDUMP_FILENAME"))
        }
        return nil
    }

    /// Whether an entry, which anybody may write, is of somebody who may be believed.
    ///
    /// By what journald itself has found out: of root, of systemd-coredump's unit, or of the user whom it is about, whose
    /// rights systemd-coredump takes before it reads the core.
    private static func isTrusted(_ entry: borrowing JournalReader, _ user: UInt32) -> Bool {
        let sender = entry.field("_UID")
        if sender == "0" || sender == "\(user)" { return true }
        return entry.field("_SYSTEMD_UNIT")?.hasPrefix("systemd-coredump@") == true
    }
}
