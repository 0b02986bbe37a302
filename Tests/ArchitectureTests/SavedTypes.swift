// SPDX-License-Identifier: Apache-2.0

/// The types that are saved for the next watchdogd, found in the sources: what their fields and cases are called in
/// files, and which names would follow a renamed field or case.
///
/// It starts from the types of the files, and follows their fields and the values of their cases.
struct SavedTypes {
    /// The names in files, by the type's name with that of its module: the fields of a structure, the cases of an
    /// enumeration with the fields of their values (`traced.by`), and raw values in quotation marks.
    private(set) var names: [String: Set<String>] = [:]
    /// What is not pinned, or not understood.
    private(set) var problems: [String] = []

    private let declarations: [String: SwiftDeclaration]

    /// Types that every encoder knows.
    private static let standard: Set<Substring> = [
        "Bool", "ClosedRange", "Double", "Duration", "Int", "Int32", "Int64", "String", "UInt16", "UInt32", "UInt64",
        "UInt8",
    ]

    /// - Parameters:
    ///   - roots: the types to start from, with their modules.
    ///   - sources: texts with the names of their modules.
    init(from roots: [String], in sources: [(module: String, text: String)]) {
        declarations = SwiftDeclaration.all(in: sources)
        var waiting = roots
        while let type = waiting.popLast() {
            guard names[type] == nil else { continue }
            names[type] = []
            guard let declaration = declarations[type] else {
                problems.append("\(type) is not declared")
                continue
            }
            for text in visit(type, declaration) {
                // Not part of a member's name, as `Kind` in `LockedFile.Kind` is.
                for match in text.matches(of: #/\b[A-Z]\w*(?:\.[A-Z]\w*)*/#) where !Self.standard.contains(match.output)
                {
                    if let found = resolve(match.output, in: type) {
                        waiting.append(found)
                    } else {
                        problems.append("\(type) has a \(match.output), which is not declared")
                    }
                }
            }
        }
        names = names.filter { !$0.value.isEmpty }
    }

    /// Notes the names of a type; returns the types of what it saves.
    private mutating func visit(_ type: String, _ declaration: SwiftDeclaration) -> [Substring] {
        if declaration.codesItself {
            if let keys = keys("CodingKeys", of: type) { names[type]?.formUnion(keys.values) }
            return declaration.decoded
        }
        if declaration.inherits.contains("RawRepresentable") { return [] }
        if declaration.kind == "enum", declaration.inherits.first == "String" {
            for value in declaration.cases {
                if value.raw == nil { problems.append("\(type).\(value.name) has no explicit raw value") }
                names[type]?.insert("\"\(value.raw ?? value.name)\"")
            }
            return []
        }
        guard let keys = keys("CodingKeys", of: type) else {
            problems.append("\(type) has no CodingKeys")
            return []
        }
        names[type]?.formUnion(keys.values)
        guard declaration.kind == "enum" else {
            return declaration.properties.filter { keys[$0.name] != nil }.map(\.type)
        }
        for value in declaration.cases { note(value, of: type, as: keys[value.name] ?? "?") }
        return declaration.cases.flatMap { $0.values.map(\.type) }
    }

    private mutating func note(_ value: SwiftDeclaration.Case, of type: String, as key: String) {
        let name = value.name.prefix(1).uppercased() + value.name.dropFirst() + "CodingKeys"
        let keys = keys(name, of: type)
        if keys == nil, value.values.contains(where: { $0.label != nil }) {
            problems.append("\(type).\(value.name) has no \(name)")
        }
        for index in value.values.indices {
            let field = value.values[index].label ?? "_\(index)"
            names[type]?.insert("\(key).\(keys?[field] ?? field)")
        }
    }

    /// The keys of a type by the names of its fields or cases.
    private func keys(_ name: String, of type: String) -> [String: String]? {
        declarations["\(type).\(name)"].map { keys in
            Dictionary(keys.cases.map { ($0.name, $0.raw ?? $0.name) }) { first, _ in first }
        }
    }

    /// Finds a type as the compiler does: in the types around its mention, in the module, in other modules.
    private func resolve(_ name: Substring, in type: String) -> String? {
        var scope = type[...]
        while true {
            if declarations["\(scope).\(name)"]?.isWhole == true { return "\(scope).\(name)" }
            guard let dot = scope.lastIndex(of: ".") else { break }
            scope = scope[..<dot]
        }
        let found = declarations.filter { $0.value.isWhole && $0.key.drop { $0 != "." }.dropFirst() == name }.keys
        return found.count == 1 ? found.first : nil
    }
}

/// What a type declares, over all its extensions in the texts.
struct SwiftDeclaration {
    struct Case {
        let name: String
        let values: [(label: String?, type: Substring)]
        /// The raw value, if it is written.
        let raw: String?
    }

    /// The first keyword that is not `extension`: `struct`, `enum`, ….
    private(set) var kind = "extension"
    private(set) var inherits: [String] = []
    /// Whether it is more than extensions of another module's type.
    var isWhole: Bool { kind != "extension" }
    /// Stored properties; of one without a type, the beginning of its value.
    private(set) var properties: [(name: String, type: Substring)] = []
    private(set) var cases: [Case] = []
    /// Whether it has an `encode(to:)` of its own.
    private(set) var codesItself = false
    /// The types that its own `init(from:)` decodes.
    private(set) var decoded: [Substring] = []

    /// All declarations, by their names with that of the module.
    static func all(in sources: [(module: String, text: String)]) -> [String: SwiftDeclaration] {
        var result: [String: SwiftDeclaration] = [:]
        for source in sources {
            var scopes: [String?] = []
            for line in LogicalLine.all(in: source.text) {
                var rest = line
                if let head = line.head, scopes.last != .some(nil) {
                    let name = "\(scopes.last.flatMap(\.self) ?? source.module).\(head.name)"
                    result[name, default: SwiftDeclaration()].note(head)
                    scopes.append(name)
                    rest = head.rest
                }
                if let name = scopes.last.flatMap(\.self) { result[name]?.note(member: rest) }
                if let name = scopes.lazy.compactMap(\.self).last { result[name]?.decoded += rest.decoded }
                for byte in rest.code {
                    if byte == UInt8(ascii: "{") { scopes.append(nil) }
                    if byte == UInt8(ascii: "}"), !scopes.isEmpty { scopes.removeLast() }
                }
            }
        }
        return result
    }

    private mutating func note(_ head: LogicalLine.Head) {
        if head.kind != "extension" { kind = head.kind }
        inherits += head.inherits
    }

    private mutating func note(member line: LogicalLine) {
        let text = line.text
        if text.contains("func encode(to ") { codesItself = true }
        if let match = text.prefixMatch(of: #/(?:indirect )?case /#), kind == "enum" {
            cases += line.cases(from: match.output.utf8.count)
        }
        guard text.contains("let ") || text.contains("var ") else { return }
        let property =
            #/(?:@\w+(?:\([^)]*\))? )?(?:(?:public|package|internal|fileprivate|private)(?:\(set\))? )*(?:let|var) (\w+)(?:: ([^={]+))?(?: ?= ?([^{]*))?(\{.*)?/#
        guard let match = text.wholeMatch(of: property), match.output.4 == nil || match.output.3 != nil else { return }
        let type = match.output.2 ?? match.output.3?.prefixMatch(of: #/[A-Z]\w*(?:\.[A-Z]\w*)*/#)?.output ?? ""
        properties.append((String(match.output.1), type))
    }
}

/// A line of code, with those that continue it.
private struct LogicalLine {
    struct Head {
        let kind: String
        let name: String
        let inherits: [String]
        /// What follows the brace.
        let rest: LogicalLine
    }

    /// Without comments and the contents of literals.
    var code: [UInt8]
    /// As it is written.
    var source: [UInt8]

    var text: String { String(decoding: code, as: UTF8.self) }

    static func all(in text: String) -> [LogicalLine] {
        let source = Array(text.utf8)
        let code = SwiftCode.blanked(source)
        var lines: [LogicalLine] = []
        var pending = LogicalLine(code: [], source: [])
        var start = 0
        for end in code.indices where code[end] == UInt8(ascii: "\n") {
            let first = code[start..<end].firstIndex { $0 != UInt8(ascii: " ") } ?? end
            let last = code[first..<end].lastIndex { $0 != UInt8(ascii: " ") } ?? first - 1
            // Literals are blank, so that the source may be longer.
            let limit = source[first..<end].contains(UInt8(ascii: "\"")) ? end : last + 1
            if !pending.code.isEmpty {
                pending.code.append(UInt8(ascii: " "))
                pending.source.append(UInt8(ascii: " "))
            }
            pending.code += code[first..<limit]
            pending.source += source[first..<limit]
            start = end + 1
            guard !pending.continues else { continue }
            if !pending.code.isEmpty { lines.append(pending) }
            pending = LogicalLine(code: [], source: [])
        }
        return lines
    }

    /// Whether the next line belongs to this one.
    private var continues: Bool {
        var depth = 0
        for byte in code {
            if byte == UInt8(ascii: "(") || byte == UInt8(ascii: "[") { depth += 1 }
            if byte == UInt8(ascii: ")") || byte == UInt8(ascii: "]") { depth -= 1 }
        }
        let last = code.last { $0 != UInt8(ascii: " ") }
        return depth > 0 || last == UInt8(ascii: ",") || last == UInt8(ascii: ":")
    }

    /// The declaration that begins here.
    var head: Head? {
        // Much quicker than the expression.
        let keywords = ["struct ", "class ", "enum ", "actor ", "protocol ", "extension "]
        guard code.contains(UInt8(ascii: "{")), keywords.contains(where: text.contains) else { return nil }
        let pattern =
            #/(?:@\w+(?:\([^)]*\))? )*(?:(?:public|package|internal|fileprivate|private|final|indirect) )*(struct|class|enum|actor|protocol|extension) ([\w.]+)(?:<[^>]*>)?(?:: ([^{]*?))?(?: where [^{]*)? ?\{ ?/#
        guard let match = text.prefixMatch(of: pattern) else { return nil }
        let length = match.output.0.utf8.count
        return Head(
            kind: String(match.output.1), name: String(match.output.2),
            inherits: (match.output.3 ?? "").split { $0 == "," || $0 == " " }.map(String.init),
            rest: LogicalLine(code: Array(code[length...]), source: Array(source[length...])))
    }

    /// The types in `decode(A.self, …)`.
    var decoded: [Substring] {
        guard text.contains("decode") else { return [] }
        return text.matches(of: #/\.decode(?:IfPresent)?\(([\w.]+)\.self/#).map(\.output.1)
    }

    /// The cases that are listed from a place on.
    func cases(from start: Int) -> [SwiftDeclaration.Case] {
        let end = code.lastIndex(of: UInt8(ascii: "}")) ?? code.endIndex
        return Self.parts(of: code, in: start..<end).map { range in
            let text = String(decoding: code[range], as: UTF8.self)
            let name = text.drop { $0 == " " }.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
            let raw = String(decoding: source[range], as: UTF8.self).firstMatch(of: #/= "([^"]*)"/#)?.output.1
            var values: [(label: String?, type: Substring)] = []
            if let open = code[range].firstIndex(of: UInt8(ascii: "(")),
                let close = code[range].lastIndex(of: UInt8(ascii: ")"))
            {
                values = Self.parts(of: code, in: open + 1..<close).map { Self.value(code[$0]) }
            }
            return SwiftDeclaration.Case(name: String(name), values: values, raw: raw.map(String.init))
        }
    }

    private static func value(_ code: ArraySlice<UInt8>) -> (label: String?, type: Substring) {
        let text = String(decoding: code, as: UTF8.self)
        guard let match = text.wholeMatch(of: #/ *(\w+): (.*)/#) else { return (nil, text[...]) }
        return (String(match.output.1), match.output.2)
    }

    /// What commas separate, outside brackets.
    private static func parts(of code: [UInt8], in range: Range<Int>) -> [Range<Int>] {
        var parts: [Range<Int>] = []
        var depth = 0
        var start = range.lowerBound
        for index in range {
            switch code[index] {
            case UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "<"): depth += 1
            case UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: ">"): depth -= 1
            case UInt8(ascii: ",") where depth == 0:
                parts.append(start..<index)
                start = index + 1
            default: break
            }
        }
        return parts + [start..<range.upperBound]
    }
}
