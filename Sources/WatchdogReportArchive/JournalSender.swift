// SPDX-License-Identifier: Apache-2.0

/// Who sent a journal entry, by the fields that journald itself adds and no sender can set.
///
/// In a journal that was received from another host, they are as trustworthy as that host.
struct JournalSender: Hashable, Sendable {
    /// Whether an entry's report is read.
    enum Standing: Hashable, Sendable {
        /// A watchdogd of root, or of this user on this machine.
        case trusted
        /// A watchdogd of another user.
        case otherUser
        /// Another program, or an unknown one.
        case imitation
    }

    private static let program = "watchdogd"

    /// `_UID`.
    var user: UInt32?
    /// `_EXE`: the path of the program; missing if the process ended before journald looked.
    var executable: String?
    /// `_COMM`: the name of the process, which counts only without a path; missing for the same reason.
    var name: String?
    /// `_MACHINE_ID`.
    var machine: String?

    /// Judges the sender.
    ///
    /// A program that runs as root could do anything else, too; a user can make a watchdogd of their own say anything.
    /// So the user decides, and the program's name only keeps apart what others of root print.
    ///
    /// - Parameters:
    ///   - user: the user who reads.
    ///   - machine: the ID of the machine that reads.
    func standing(for user: UInt32, on machine: String?) -> Standing {
        guard let sender = self.user else { return .imitation }
        if let executable {
            guard executable.hasSuffix("/\(Self.program)") else { return .imitation }
        } else if let name, name != Self.program {
            return .imitation
        }
        if sender == 0 { return .trusted }
        return sender == user && machine != nil && self.machine == machine ? .trusted : .otherUser
    }
}
