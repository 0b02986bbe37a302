// SPDX-License-Identifier: Apache-2.0

extension String {
    /// The beginning of the text in at most this many bytes of UTF-8, cut between characters; a text that was cut ends in
    /// `...`.
    package func bounded(bytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        let room = Swift.max(0, limit - 3)
        var kept = String.UnicodeScalarView()
        var count = 0
        for scalar in unicodeScalars {
            count += UTF8.width(scalar)
            guard count <= room else { break }
            kept.append(scalar)
        }
        return String(kept) + "...".prefix(limit)
    }
}
