// SPDX-License-Identifier: Apache-2.0

package import WatchdogBase
package import WatchdogLinux

/// A cursor over journal entries, newest first.
package protocol JournalEntries: AnyObject {
    /// Moves past the newest entry, and selects those in which a field has one of some values.
    func begin(matching name: String, _ values: some Sequence<String>)
    /// Moves to the next older entry; false at the end.
    func previous() -> Bool
    /// Whether a damaged file made entries unreadable.
    var isDamaged: Bool { get }
    /// Moves to an entry; false if it is no longer there.
    func seek(_ cursor: String) -> Bool
    var time: WallTime { get }
    /// The cursor, which identifies the entry.
    var cursor: String { get }
    /// The first `limit` bytes of a field of this entry.
    func value(_ name: String, limit: Int) -> JournalValue
    /// The first `limit` bytes of several fields of this entry as text, in the order of the names; nil for those it
    /// lacks. An optional field may be missed if it comes after the required ones.
    func texts(_ names: JournalFieldNames, limit: Int) -> [String?]
}

extension JournalFiles: JournalEntries {}
