// SPDX-License-Identifier: Apache-2.0

import Testing

/// The unprivileged user of apps, and of attackers of root's daemon.
let attackingUser = "games"

/// Starts an attack of `Subjects/attacker.py` in a directory that its user can enter.
///
/// - Parameters:
///   - arguments: the attack, its duration in seconds, and its target.
///   - user: the name or number of the user and of the user's group.
func startAttacker(_ scratch: Scratch, _ arguments: [String], as user: String = attackingUser) throws -> Program {
    // This user may not be able to enter the checkout.
    let text = contents(of: "\(subjects)/attacker.py").map { String(decoding: $0, as: UTF8.self) }
    let script = try scratch.write(try #require(text), to: "attacker.py")
    return try Program(
        ["setpriv", "--reuid", user, "--regid", user, "--clear-groups", "--inh-caps=-all"]
            + ["/usr/bin/python3", script] + arguments)
}
