// SPDX-License-Identifier: Apache-2.0

/// The name that somebody may have meant who wrote another.
enum NameSuggestion {
    /// The most bytes of a name that is looked at.
    static let longest = 64
    /// The most candidates that are looked at: it is done on the loop.
    static let most = 2000

    /// The nearest of `names`, if one is near enough to be a slip of the keyboard.
    static func nearest(to text: String, among names: [String]) -> String? {
        let written = Array(text.lowercased().utf8.prefix(longest + 1))
        guard !written.isEmpty, written.count <= longest else { return nil }
        // A third of the letters may be wrong; of a short name one.
        let limit = max(1, min(4, written.count / 3))
        var best: (name: String, distance: Int)?
        for name in names.prefix(most) where abs(name.utf8.count - written.count) <= limit {
            let distance = distance(written, Array(name.lowercased().utf8), limit: min(limit, best?.distance ?? limit))
            if distance <= limit, distance < best?.distance ?? .max { best = (name, distance) }
        }
        return best?.name
    }

    /// The least number of letters to insert, leave out, replace or swap with their neighbour; above `limit` any number
    /// above it.
    private static func distance(_ left: [UInt8], _ right: [UInt8], limit: Int) -> Int {
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
            // A swap may save one, once.
            if least > limit + 1 { return limit + 1 }
            beforeLast = last
            last = current
        }
        return last[right.count]
    }
}
