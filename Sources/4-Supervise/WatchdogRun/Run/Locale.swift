// SPDX-License-Identifier: Apache-2.0

import WatchdogLinux

/// The locale of the terminal's user.
public enum Locale {
    /// Whether it can show more than ASCII: the first nonempty variable of the three decides, locale(7).
    public static var isUnicode: Bool {
        let environment = Environment.inherited
        let value = ["LC_ALL", "LC_CTYPE", "LANG"].compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
        let name = value.lowercased()
        return name.contains("utf-8") || name.contains("utf8")
    }
}
