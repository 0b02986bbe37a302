// SPDX-License-Identifier: Apache-2.0

/// The sender of a journal entry, by the fields that journald itself adds and a sender cannot forge.
///
/// In a journal from another host, they are as trustworthy as that host.
struct JournalSender: Hashable, Sendable {
    /// The trust in a sender.
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
    /// `_EXE`: the path of the program; missing if the process exited before journald read it.
    var executable: String?
    /// `_COMM`: the name of the process, used only without a path; missing for the same reason.
    var name: String?
    /// `_MACHINE_ID`.
    var machine: String?

    /// Judges the sender.
    ///
    /// Root can do anything anyway, and a user can run a modified watchdogd. So trust depends on the user; the
    /// program's name only filters the output of root's other programs.
    ///
    /// - Parameters:
    ///   - user: the reading user.
    ///   - machine: the ID of the reading machine.
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
