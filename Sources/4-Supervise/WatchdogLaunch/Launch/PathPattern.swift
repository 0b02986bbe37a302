// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A path with the wildcards of glob(7).
package struct PathPattern {
    package let pattern: String

    package init(_ pattern: String) {
        self.pattern = pattern
    }

    /// The existing paths that match, in order; a pattern without wildcards yields itself, even if nothing exists
    /// there.
    package var matches: [String] {
        guard pattern.contains(where: { "*?[".contains($0) }) else { return [pattern] }
        var result = glob_t()
        defer { globfree(&result) }
        guard glob(pattern, 0, nil, &result) == 0 else { return [] }
        return (0..<Int(result.gl_pathc)).compactMap { result.gl_pathv[$0].map { String(cString: $0) } }
    }
}
