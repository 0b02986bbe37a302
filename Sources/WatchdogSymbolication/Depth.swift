// SPDX-License-Identifier: Apache-2.0

/// How much is said of each frame; less takes less time and parses fewer strangers' bytes.
enum Depth: Int, Comparable, CaseIterable {
    /// Addresses only; libdw sees nothing.
    case addresses
    /// Names of functions.
    case names
    /// Names, source lines and inlined calls.
    case lines

    static func < (left: Depth, right: Depth) -> Bool { left.rawValue < right.rawValue }
}
