// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// An interface's definition, parsed with the grammar of https://varlink.org/Interface-Definition.
struct InterfaceDefinition {
    indirect enum Kind: Equatable {
        case bool
        case int
        case float
        case string
        case object
        case named(String)
        case optional(Kind)
        case array(Kind)
        case dictionary(Kind)
        case structure([Field])
        case enumeration([String])
    }

    struct Field: Equatable {
        let name: String
        let kind: Kind
    }

    struct SyntaxError: Error {
        let rest: String
    }

    private(set) var name = ""
    private(set) var types: [String: Kind] = [:]
    private(set) var methods: [String: (input: Kind, output: Kind)] = [:]
    private(set) var errors: [String: Kind] = [:]

    private var tokens: ArraySlice<String>

    init(_ text: String) throws {
        let lines = text.split(separator: "\n").map { $0.prefix { $0 != "#" } }.joined(separator: "\n")
        let token = #/\[string\]|\[\]|->|[():,?]|[A-Za-z][A-Za-z0-9_.-]*[A-Za-z0-9_]|[A-Za-z]|\S/#
        tokens = lines.matches(of: token).map { String($0.output) }[...]
        try expect("interface")
        name = try take(#/[a-z]+(\.[A-Za-z0-9]+)+/#)
        while let keyword = tokens.popFirst() {
            let member = try take(#/[A-Z][A-Za-z0-9]*/#)
            switch keyword {
            case "type": types[member] = try structure()
            case "error": errors[member] = try structure()
            case "method":
                let input = try structure()
                try expect("->")
                methods[member] = (input, try structure())
            default: throw SyntaxError(rest: keyword)
            }
        }
    }

    private mutating func expect(_ token: String) throws {
        guard tokens.popFirst() == token else { throw SyntaxError(rest: tokens.prefix(5).joined(separator: " ")) }
    }

    private mutating func take(_ pattern: Regex<some Any>) throws -> String {
        guard let token = tokens.popFirst(), try pattern.wholeMatch(in: token) != nil else {
            throw SyntaxError(rest: tokens.prefix(5).joined(separator: " "))
        }
        return token
    }

    private mutating func structure() throws -> Kind {
        try expect("(")
        var fields: [Field] = []
        var names: [String] = []
        while tokens.first != ")" {
            let name = try take(#/[A-Za-z](_?[A-Za-z0-9])*/#)
            if tokens.first == ":" {
                tokens.removeFirst()
                fields.append(Field(name: name, kind: try kind()))
            } else {
                names.append(name)
            }
            guard tokens.first == "," else { break }
            tokens.removeFirst()
        }
        try expect(")")
        guard names.isEmpty || fields.isEmpty else { throw SyntaxError(rest: names.joined(separator: " ")) }
        return names.isEmpty ? .structure(fields) : .enumeration(names)
    }

    private mutating func kind() throws -> Kind {
        switch tokens.first {
        case "?": tokens.removeFirst(); return .optional(try kind())
        case "[]": tokens.removeFirst(); return .array(try kind())
        case "[string]": tokens.removeFirst(); return .dictionary(try kind())
        case "(": return try structure()
        case "bool": tokens.removeFirst(); return .bool
        case "int": tokens.removeFirst(); return .int
        case "float": tokens.removeFirst(); return .float
        case "string": tokens.removeFirst(); return .string
        case "object": tokens.removeFirst(); return .object
        default: return .named(try take(#/[A-Z][A-Za-z0-9]*/#))
        }
    }

    /// Lists the values that do not match their kind, and collects the fields that occur.
    func problems(_ value: JSON, _ kind: Kind, at path: String, seen: inout Set<String>) -> [String] {
        switch (kind, value) {
        case (.named(let name), _):
            guard let kind = types[name] else { return ["\(path): no type \(name)"] }
            return problems(value, kind, at: name, seen: &seen)
        case (.optional(let kind), _):
            return problems(value, kind, at: path, seen: &seen)
        case (.array(let kind), .array(let elements)):
            return elements.flatMap { problems($0, kind, at: path, seen: &seen) }
        case (.dictionary(let kind), .object(let members)):
            return members.flatMap { problems($0.value, kind, at: path, seen: &seen) }
        case (.structure(let fields), .object(let members)):
            var problems: [String] = []
            for field in fields {
                guard let member = members[field.name] else {
                    if case .optional = field.kind { continue }
                    problems.append("\(path).\(field.name) is missing")
                    continue
                }
                seen.insert("\(path).\(field.name)")
                problems += self.problems(member, field.kind, at: "\(path).\(field.name)", seen: &seen)
            }
            let unknown = Set(members.keys).subtracting(fields.map(\.name))
            return problems + unknown.sorted().map { "\(path).\($0) is not defined" }
        case (.enumeration(let names), .string(let name)):
            return names.contains(name) ? [] : ["\(path): \(name) is not defined"]
        case (.bool, .bool), (.int, .int), (.string, .string), (.object, _): return []
        default: return ["\(path) is of the wrong kind"]
        }
    }

    /// All fields of a kind, as `problems` names them.
    func fields(_ kind: Kind, at path: String) -> Set<String> {
        switch kind {
        case .named(let name): return types[name].map { fields($0, at: name) } ?? []
        case .optional(let kind), .array(let kind), .dictionary(let kind): return fields(kind, at: path)
        case .structure(let all):
            return all.reduce(into: []) { result, field in
                result.insert("\(path).\(field.name)")
                result.formUnion(fields(field.kind, at: "\(path).\(field.name)"))
            }
        case .bool, .int, .float, .string, .object, .enumeration: return []
        }
    }
}

/// Any JSON without fractions.
enum JSON: Decodable, Equatable {
    case null
    case bool(Bool)
    case int(Int64)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .int(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSON].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSON].self))
        }
    }

    /// The encoded form of a value.
    init(encoding value: some Encodable) throws {
        self = try JSONDecoder().decode(JSON.self, from: try JSONEncoder().encode(value))
    }
}
