// SPDX-License-Identifier: Apache-2.0

import Glibc
public import WatchdogBase

/// What systemd-coredump wrote to the journal about a process: systemd-coredump(8), coredumpctl(1).
public struct CoredumpEntry: Sendable {
    /// The `MESSAGE_ID` of its entries: `SD_MESSAGE_COREDUMP` in sd-messages.h.
    public static let messageID = "fc2e22bc6ee647b68b6ab5d4d19e2d10"

    private static let textBytes = 4 << 20
    private static let entryLimit = 64

    /// The message, which contains the stacks.
    public let message: String
    /// The signal, if the entry names it.
    public let signal: Int32?
    /// The file that contains the core.
    public let file: String?

    /// Finds the latest entry about a process; waits for it.
    ///
    /// Not for the loop's thread.
    ///
    /// - Parameters:
    ///   - process: the process ID.
    ///   - user: the user that the process ran as.
    ///   - start: when the process was launched; an older entry is about another process.
    ///   - limit: how long to wait for the entry.
    ///   - directory: the folder of the journal's files; nil for this machine's.
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

    /// Whether an entry comes from a trusted sender; anyone can write one.
    ///
    /// Relies only on what journald itself recorded about the sender: root, systemd-coredump's unit, or the user whom
    /// the entry is about. systemd-coredump switches to that user before it reads the core.
    private static func isTrusted(_ entry: borrowing JournalReader, _ user: UInt32) -> Bool {
        let sender = entry.field("_UID")
        if sender == "0" || sender == "\(user)" { return true }
        return entry.field("_SYSTEMD_UNIT")?.hasPrefix("systemd-coredump@") == true
    }
}
