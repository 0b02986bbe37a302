// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The values of a YAML document that have anchors, and what aliases repeat of them: YAML 1.2, 3.2.2.2.
struct YAMLAnchors {
    struct Invalid: Error {
        let message: String
    }

    /// The maximum nesting depth, which exceeds that of realistic compose files.
    private static let maximumHeight = 32
    /// The maximum expanded size: aliases of aliases could expand a few lines to more than fits into memory.
    private static let maximumWeight = 2 << 20

    private var nodes: [String: (node: YAMLNode, weight: Int)] = [:]
    /// The number of bytes from aliases so far.
    private var repeated = 0

    /// The name at the start of a text.
    static func name(_ text: Substring) -> Substring { text.prefix { !" \t,[]{}".contains($0) } }

    /// Defines an anchor, and replaces an earlier one of that name.
    ///
    /// - Returns: false if the value is nested too deeply.
    mutating func define(_ name: String, _ node: YAMLNode) -> Bool {
        let (weight, height) = Self.measure(node)
        guard height <= Self.maximumHeight else { return false }
        nodes[name] = (node, weight)
        return true
    }

    /// The value of an alias.
    ///
    /// - Throws: ``Invalid`` for an unknown alias, or beyond the maximum expanded size.
    mutating func node(_ name: String) throws(Invalid) -> YAMLNode {
        guard let (node, weight) = nodes[name] else {
            throw Invalid(message: "no anchor &\(name.singleLine(limit: 40)) comes before this alias")
        }
        repeated += weight
        guard repeated <= Self.maximumWeight else {
            throw Invalid(message: "the aliases repeat more than 2 MiB")
        }
        return node
    }

    private static func measure(_ node: YAMLNode) -> (weight: Int, height: Int) {
        // Even an empty value uses memory.
        var (weight, height) = (32 + (node.scalar?.utf8.count ?? 0), 1)
        for child in (node.items ?? []) + (node.entries ?? []).map(\.value) {
            let inner = measure(child)
            weight += inner.weight
            height = max(height, inner.height + 1)
        }
        return (weight, height)
    }

    /// Merges the entries of `<<`: yaml.org, "Merge Key Language-Independent Type".
    ///
    /// A mapping's own entries take precedence, then those of the earlier mappings. Nil if one of the merged values is
    /// not a mapping.
    static func merged(_ entries: [YAMLNode.Entry]) -> [YAMLNode.Entry]? {
        guard let merge = entries.first(where: { $0.key == "<<" }) else { return entries }
        var merged = entries.filter { $0.key != "<<" }
        var keys = Set(merged.map(\.key))
        for source in merge.value.items ?? [merge.value] {
            guard let entries = source.entries else { return nil }
            merged += entries.filter { keys.insert($0.key).inserted }
        }
        return merged
    }
}
