// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

extension StringProtocol {
    /// The text in double quotes for a message: truncated, on one line, safe for a terminal.
    func quoted(limit: Int = 80) -> String { "\"\(singleLine(limit: limit))\"" }
}

extension Unicode.Scalar {
    /// False for what app files and scripts do not take: controls, formatting characters and line separators.
    var isPrintable: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: false
        default: true
        }
    }
}
