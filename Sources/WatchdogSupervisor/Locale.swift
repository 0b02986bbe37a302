// SPDX-License-Identifier: Apache-2.0

import WatchdogLinux

/// What the terminal's user wants to read.
enum Locale {
    /// Whether more than ASCII is understood: locale(7), the first of the three that is not empty decides.
    static var isUnicode: Bool {
        let environment = Environment.inherited
        let value = ["LC_ALL", "LC_CTYPE", "LANG"].compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
        let name = value.lowercased()
        return name.contains("utf-8") || name.contains("utf8")
    }
}
