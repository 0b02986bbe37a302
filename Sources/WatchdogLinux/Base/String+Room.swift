// SPDX-License-Identifier: Apache-2.0

extension String {
    /// The same text in memory of just its size, for one that many apps keep.
    ///
    /// What was put together has room to grow: up to as much again as it is long.
    public var withoutSpareRoom: String { String(decoding: Array(utf8), as: UTF8.self) }
}
