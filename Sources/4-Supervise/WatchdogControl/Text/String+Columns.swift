// SPDX-License-Identifier: Apache-2.0

extension String {
    /// The text in at most `limit` columns; a longer one ends with `...`.
    func cut(to limit: Int) -> String {
        count <= limit ? self : String(prefix(max(0, limit - 3))) + "..."
    }

    /// The text in at most `limit` columns; a longer one keeps its beginning and its end.
    func cutInside(to limit: Int) -> String {
        guard count > limit else { return self }
        let kept = max(0, limit - 3)
        return String(prefix((kept + 1) / 2)) + "..." + String(suffix(kept / 2))
    }

    /// The text padded with trailing spaces.
    func left(_ width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }

    /// The text padded with leading spaces.
    func right(_ width: Int) -> String {
        String(repeating: " ", count: max(0, width - count)) + self
    }
}
