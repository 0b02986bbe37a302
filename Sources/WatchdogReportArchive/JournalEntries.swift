// SPDX-License-Identifier: Apache-2.0

package import WatchdogBase
package import WatchdogLinux

/// Journal entries, newest first, and the position in them.
package protocol JournalEntries: AnyObject {
    /// Moves past the newest entry, and selects those in which a field has one of some values.
    func begin(matching name: String, _ values: some Sequence<String>)
    /// Moves to the next older entry; false if there is none.
    func previous() -> Bool
    /// Whether entries could not be reached, because a file is damaged.
    var isDamaged: Bool { get }
    /// Moves to an entry; false if it is no longer there.
    func seek(_ cursor: String) -> Bool
    /// When journald received the entry.
    var time: WallTime { get }
    /// What identifies the entry.
    var cursor: String { get }
    /// The value of a field of this entry, at most `limit` bytes of it.
    func value(_ name: String, limit: Int) -> JournalValue
}

extension JournalFiles: JournalEntries {}
