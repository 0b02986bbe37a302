// SPDX-License-Identifier: Apache-2.0

import Testing

/// A user without rights, as whom apps and those who attack root's daemon run.
let attackingUser = "games"

/// Starts an attack of `Subjects/attacker.py` in a directory that its user can enter.
///
/// - Parameters:
///   - arguments: the attack, how many seconds it takes, and what it is about.
///   - user: the name or number of the user and of the user's group.
func startAttacker(_ scratch: Scratch, _ arguments: [String], as user: String = attackingUser) throws -> Program {
    // The checkout may be where this user cannot go.
    let text = contents(of: "\(subjects)/attacker.py").map { String(decoding: $0, as: UTF8.self) }
    let script = try scratch.write(try #require(text), to: "attacker.py")
    return try Program(
        ["setpriv", "--reuid", user, "--regid", user, "--clear-groups", "--inh-caps=-all"]
            + ["/usr/bin/python3", script] + arguments)
}
