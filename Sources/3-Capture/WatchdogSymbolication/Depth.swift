// SPDX-License-Identifier: Apache-2.0

/// The level of detail of each frame; a lower one takes less time and parses fewer untrusted bytes.
enum Depth: Int, Comparable, CaseIterable {
    /// Addresses only; libdw parses no file.
    case addresses
    /// Function names.
    case names
    /// Function names, source lines and inlined calls.
    case lines

    static func < (left: Depth, right: Depth) -> Bool { left.rawValue < right.rawValue }
}
