// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Texts from files of others, for messages: each on one line, safe for a terminal.
enum Printable {
    /// The text in double quotes, cut.
    static func quoted(_ text: some StringProtocol) -> String { "\"\(text.singleLine(limit: 60))\"" }

    /// `Key=Value`, truncated.
    static func setting(_ key: some StringProtocol, _ value: some StringProtocol) -> String {
        "\(key.singleLine(limit: 60))=\(value.singleLine(limit: 40))"
    }
}
