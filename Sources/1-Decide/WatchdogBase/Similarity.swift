// SPDX-License-Identifier: Apache-2.0

/// Finds the name that a misspelled one was probably meant to be.
public enum Similarity {
    /// The longest name that is compared, in bytes.
    public static let longest = 64

    /// The most similar of `candidates`, if it is similar enough for a typo.
    public static func nearest(to text: String, among candidates: some Sequence<String>) -> String? {
        let written = Array(text.lowercased().utf8)
        guard !written.isEmpty, written.count <= longest else { return nil }
        // A third of the letters may be wrong, but always at least one.
        let limit = max(1, min(4, written.count / 3))
        var best: (name: String, distance: Int)?
        for candidate in candidates {
            let distance = distance(
                written, Array(candidate.lowercased().utf8), limit: min(limit, best?.distance ?? limit))
            if distance <= limit, distance < best?.distance ?? .max { best = (candidate, distance) }
        }
        return best?.name
    }

    /// The minimum number of letters to insert, delete, replace or swap with a neighbor; if it exceeds `limit`, any
    /// number above that.
    private static func distance(_ left: [UInt8], _ right: [UInt8], limit: Int) -> Int {
        guard abs(left.count - right.count) <= limit else { return limit + 1 }
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for (row, letter) in left.enumerated() {
            var current = [row + 1]
            var least = row + 1
            for (column, other) in right.enumerated() {
                var cost = min(last[column] + (letter == other ? 0 : 1), last[column + 1] + 1, current[column] + 1)
                if row > 0, column > 0, letter == right[column - 1], left[row - 1] == other {
                    cost = min(cost, beforeLast[column - 1] + 1)
                }
                current.append(cost)
                least = min(least, cost)
            }
            // A swap may still save one step.
            if least > limit + 1 { return limit + 1 }
            beforeLast = last
            last = current
        }
        return last[right.count]
    }
}
