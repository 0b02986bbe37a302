// SPDX-License-Identifier: Apache-2.0

package import WatchdogReport

/// The subset of JSON Schema that the schemas in `docs` use; anything else in them is a fault.
package struct SchemaValidator {
    private let root: JSONTree
    private let isStrict: Bool

    /// Takes a schema.
    ///
    /// - Parameter isStrict: Whether an unknown key is a fault, though the schema's readers ignore it.
    package init(root: JSONTree, isStrict: Bool = false) {
        self.root = root
        self.isStrict = isStrict
    }

    /// The faults of a whole document.
    package func faults(_ value: JSONTree) -> [String] { faults(value, root, "") }

    private static let known: Set<String> = [
        "$schema", "$id", "$defs", "$ref", "title", "description", "type", "properties", "required",
        "additionalProperties", "items", "enum", "const", "minimum", "maximum",
    ]

    /// The faults of a part of a document against a part of the schema.
    package func faults(_ value: JSONTree, _ schema: JSONTree, _ path: String) -> [String] {
        if let reference = schema["$ref"]?.string {
            guard let target = root["$defs"]?[String(reference.dropFirst("#/$defs/".count))] else {
                return ["\(path): no \(reference)"]
            }
            return faults(value, target, path)
        }
        var faults = schema.members.keys.filter { !Self.known.contains($0) }.map { "\(path): the schema has \($0)" }
        if let type = schema["type"] {
            let names = type.string.map { [$0] } ?? type.strings
            guard names.contains(where: { matches(value, $0) }) else { return faults + ["\(path): not \(names)"] }
        }
        if let constant = schema["const"], constant != value { faults.append("\(path): not \(constant)") }
        if let choices = schema["enum"]?.elements, !choices.contains(value) {
            faults.append("\(path): \(value) is none of \(choices)")
        }
        if let least = schema["minimum"]?.wholeNumber, let number = value.wholeNumber, number < least {
            faults.append("\(path): below \(least)")
        }
        if let most = schema["maximum"]?.wholeNumber, let number = value.wholeNumber, number > most {
            faults.append("\(path): above \(most)")
        }
        if let items = schema["items"] {
            for (index, element) in value.elements.enumerated() {
                faults += self.faults(element, items, "\(path)[\(index)]")
            }
        }
        return faults + members(value, schema, path)
    }

    private func members(_ value: JSONTree, _ schema: JSONTree, _ path: String) -> [String] {
        guard case .object(let members) = value else { return [] }
        let properties = schema["properties"]?.members ?? [:]
        var faults = (schema["required"]?.strings ?? []).filter { members[$0] == nil }.map { "\(path): no \($0)" }
        for (key, member) in members.sorted(by: { $0.key < $1.key }) {
            if let property = properties[key] {
                faults += self.faults(member, property, "\(path).\(key)")
            } else if case .object? = schema["additionalProperties"], let other = schema["additionalProperties"] {
                faults += self.faults(member, other, "\(path).\(key)")
            } else if schema["additionalProperties"] == .bool(false) || isStrict {
                faults.append("\(path).\(key): unknown")
            }
        }
        return faults
    }

    private func matches(_ value: JSONTree, _ type: String) -> Bool {
        switch (type, value) {
        case ("null", .null), ("boolean", .bool), ("integer", .integer), ("integer", .unsigned), ("string", .text),
            ("array", .array), ("object", .object), ("number", .integer), ("number", .unsigned), ("number", .fraction):
            true
        default: false
        }
    }
}
