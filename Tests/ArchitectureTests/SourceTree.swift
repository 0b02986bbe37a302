// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

/// One text file of this package.
struct SourceFile: Sendable, CustomTestStringConvertible {
    /// Relative to the package, as in `Sources/1-Decide/WatchdogWire/Wire.swift`.
    let path: String
    let lines: [Substring]

    var testDescription: String { path }
    var fileExtension: Substring { path.split(separator: "/").last?.split(separator: ".").dropFirst().last ?? "" }
    var isSwift: Bool { fileExtension == "swift" }
    var isC: Bool { fileExtension == "c" || fileExtension == "h" }

    /// In `Sources`, relative to the folder in which its module lies, as in `WatchdogWire/Wire.swift`; nil elsewhere.
    var place: String? {
        let parts = path.split(separator: "/")
        guard parts.first == "Sources", parts.count > 2 else { return nil }
        return parts.dropFirst(Module.folders.contains(String(parts[1])) ? 2 : 1).joined(separator: "/")
    }

    /// The lines of a program with their numbers, without blank lines, comments and the contents of string literals.
    ///
    /// Documents and data have none.
    let code: [(number: Int, text: Substring)]

    init(path: String, lines: [Substring]) {
        self.path = path
        self.lines = lines
        let isProgram = [".swift", ".c", ".h", ".py", ".sh"].contains { path.hasSuffix($0) }
        self.code = isProgram ? Self.code(in: lines) : []
    }

    private static func code(in lines: [Substring]) -> [(number: Int, text: Substring)] {
        /// The end of the region that contains the next line, if any.
        var terminator: String?
        return lines.enumerated().compactMap { index, line in
            if let end = terminator {
                if line.contains(end) { terminator = nil }
                return nil
            }
            let text = line.drop { $0 == " " || $0 == "\t" }
            if text.hasPrefix("/*") {
                if !text.contains("*/") { terminator = "*/" }
                return nil
            }
            guard !text.isEmpty, !text.hasPrefix("//") else { return nil }
            if text.hasSuffix("\"\"\"") || text.hasSuffix("\"\"\"#") { terminator = "\"\"\"" }
            return (index + 1, withoutTrailingComment(withoutLiterals(text)))
        }
    }

    private static func withoutLiterals(_ text: Substring) -> Substring {
        guard text.utf8.contains(UInt8(ascii: "\"")) else { return text }
        // Much faster than by grapheme, and nothing here combines several scalars.
        return text.replacing(#/"(?:\\.|[^"\\])*"/#.matchingSemantics(.unicodeScalar), with: "\"\"")
    }

    private static func withoutTrailingComment(_ text: Substring) -> Substring {
        text.firstRange(of: " // ").map { text[..<$0.lowerBound] } ?? text
    }

    /// The places where code matches `pattern`, as `path:line: text`.
    func places(matching pattern: some RegexComponent) -> [String] {
        let pattern = pattern.regex.matchingSemantics(.unicodeScalar)
        return code.filter { $0.text.contains(pattern) }.map { "\(path):\($0.number): \($0.text)" }
    }
}

/// The files of this package as they are on disk now.
enum SourceTree {
    static let root = String(#filePath.split(separator: "/").dropLast(3).joined(separator: "/").withPrefix("/"))

    /// All text files below `folder`; empty if the folder does not exist.
    static func files(below folder: String) -> [SourceFile] {
        all.filter { $0.path.hasPrefix("\(folder)/") }
    }

    /// The text files of a module, or of a folder of it, as in `WatchdogPolicy/Judgement`.
    static func files(of module: String) -> [SourceFile] {
        all.filter { $0.place?.hasPrefix("\(module)/") == true }
    }

    /// The file at `path`, unless it is a folder or not text.
    static func file(_ path: String) -> SourceFile? {
        guard let text = try? String(contentsOfFile: "\(root)/\(path)", encoding: .utf8) else { return nil }
        return SourceFile(path: path, lines: text.split(separator: "\n", omittingEmptySubsequences: false))
    }

    /// Whether a file or a folder exists at `path`.
    static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: "\(root)/\(path)")
    }

    private static let all: [SourceFile] = {
        let folders = ["Sources", "Tests", "Examples", "Benchmarks", "Fuzz", "scripts", ".ci", "docs", "units"]
        return folders.flatMap { folder in
            let paths = (try? FileManager.default.subpathsOfDirectory(atPath: "\(root)/\(folder)")) ?? []
            return paths.sorted().compactMap { file("\(folder)/\($0)") }
        }
    }()

    /// Programs and scripts: everything but documents, and data that tests compare with.
    static let handwritten = all.filter { $0.isSwift || $0.isC || $0.isScript }

    static let swiftSources = files(below: "Sources").filter(\.isSwift)

    /// Test code that must not wait for time to pass; programs that tests run may.
    static let unitTests = files(below: "Tests").filter {
        $0.isSwift && !$0.path.hasPrefix("Tests/IntegrationTests/") && !$0.path.contains("/Subjects/")
    }
}

extension String {
    fileprivate func withPrefix(_ prefix: String) -> String { prefix + self }
}
