// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The values of a YAML document that have anchors, and what aliases repeat of them: YAML 1.2, 3.2.2.2.
struct YAMLAnchors {
    struct Invalid: Error {
        let message: String
    }

    /// Deeper than any compose file.
    private static let maximumHeight = 32
    /// Aliases of aliases could repeat a few lines more often than any memory holds.
    private static let maximumWeight = 2 << 20

    private var nodes: [String: (node: YAMLNode, weight: Int)] = [:]
    /// How many bytes aliases have repeated.
    private var repeated = 0

    /// The name at the start of a text.
    static func name(_ text: Substring) -> Substring { text.prefix { !" \t,[]{}".contains($0) } }

    /// Gives a value a name; a later one of that name replaces it.
    ///
    /// - Returns: false if the value is nested too deeply.
    mutating func define(_ name: String, _ node: YAMLNode) -> Bool {
        let (weight, height) = Self.measure(node)
        guard height <= Self.maximumHeight else { return false }
        nodes[name] = (node, weight)
        return true
    }

    /// The value that an alias stands for.
    ///
    /// - Throws: ``Invalid`` if there is none, or too much has been repeated.
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
        // An empty value takes memory too.
        var (weight, height) = (32 + (node.scalar?.utf8.count ?? 0), 1)
        for child in (node.items ?? []) + (node.entries ?? []).map(\.value) {
            let inner = measure(child)
            weight += inner.weight
            height = max(height, inner.height + 1)
        }
        return (weight, height)
    }

    /// The entries with those of `<<`: yaml.org, "Merge Key Language-Independent Type".
    ///
    /// What a mapping sets itself counts, then what an earlier of several mappings sets. Nil if one of them is no mapping.
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
