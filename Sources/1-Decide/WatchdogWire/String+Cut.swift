// SPDX-License-Identifier: Apache-2.0

extension String {
    /// The longest beginning of at most `limit` bytes that ends at a scalar boundary.
    func cut(toBytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(startIndex, offsetBy: max(0, limit))
        while end.samePosition(in: unicodeScalars) == nil {
            end = utf8.index(before: end)
        }
        return String(self[..<end])
    }
}
