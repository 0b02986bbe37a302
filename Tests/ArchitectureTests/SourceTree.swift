// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

/// One text file of this package.
struct SourceFile: Sendable, CustomTestStringConvertible {
    /// Relative to the package, as in `Sources/WatchdogWire/Wire.swift`.
    let path: String
    let lines: [Substring]

    var testDescription: String { path }
    var fileExtension: Substring { path.split(separator: "/").last?.split(separator: ".").dropFirst().last ?? "" }
    var isSwift: Bool { fileExtension == "swift" }
    var isC: Bool { fileExtension == "c" || fileExtension == "h" }

    /// The lines with their numbers, without blank lines and comments.
    var code: [(number: Int, text: Substring)] {
        var insideComment = false
        return lines.enumerated().compactMap { index, line in
            let text = line.drop { $0 == " " || $0 == "\t" }
            if insideComment {
                insideComment = !text.contains("*/")
                return nil
            }
            if text.hasPrefix("/*") {
                insideComment = !text.contains("*/")
                return nil
            }
            guard !text.isEmpty, !text.hasPrefix("//") else { return nil }
            return (index + 1, text.firstRange(of: " // ").map { text[..<$0.lowerBound] } ?? text)
        }
    }

    /// Where code matches `pattern`, as `path:line: text`.
    func places(matching pattern: some RegexComponent) -> [String] {
        code.filter { $0.text.contains(pattern) }.map { "\(path):\($0.number): \($0.text)" }
    }
}

/// The files of this package, as they are on disk now.
enum SourceTree {
    static let root = String(#filePath.split(separator: "/").dropLast(3).joined(separator: "/").withPrefix("/"))

    /// All files below `folder`; none when there is no such folder.
    static func files(below folder: String) -> [SourceFile] {
        let paths = (try? FileManager.default.subpathsOfDirectory(atPath: "\(root)/\(folder)")) ?? []
        return paths.sorted().compactMap { file("\(folder)/\($0)") }
    }

    /// The file at `path`, unless it is a folder or not text.
    static func file(_ path: String) -> SourceFile? {
        guard let text = try? String(contentsOfFile: "\(root)/\(path)", encoding: .utf8) else { return nil }
        return SourceFile(path: path, lines: text.split(separator: "\n", omittingEmptySubsequences: false))
    }

    /// Whether there is a file or a folder at `path`.
    static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: "\(root)/\(path)")
    }

    /// What is written by hand: everything but licence, documents, and data that tests compare with.
    static let all = ["Sources", "Tests", "Examples", "Benchmarks", "Fuzz", "scripts", ".ci"].flatMap(files(below:))

    static let swiftSources = files(below: "Sources").filter(\.isSwift)

    /// The test code that must not wait for time to pass; programs that tests run are free to.
    static let unitTests = files(below: "Tests").filter {
        $0.isSwift && !$0.path.hasPrefix("Tests/IntegrationTests/") && !$0.path.contains("/Subjects/")
    }
}

extension String {
    fileprivate func withPrefix(_ prefix: String) -> String { prefix + self }
}
