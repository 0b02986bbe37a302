// SPDX-License-Identifier: Apache-2.0

extension String {
    /// The same text in memory of exactly its size; for strings that are kept for each of many apps.
    ///
    /// A concatenated string has spare capacity, up to its own length.
    public var withoutSpareRoom: String { String(decoding: Array(utf8), as: UTF8.self) }
}
