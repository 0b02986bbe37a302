// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// A folder for files that the original programs read.
struct ScratchFolder: ~Copyable {
    let path: String

    init() throws {
        var template = Array("/tmp/watchdogd-import.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Failure() }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func write(_ text: String, to name: String) throws -> String {
        let file = "\(path)/\(name)"
        try text.write(toFile: file, atomically: false, encoding: .utf8)
        chmod(file, 0o600)
        return file
    }

    struct Failure: Error {}
}

/// The output of a shell command on both streams, and its exit status.
func output(of command: String) -> (text: String, status: Int32) {
    let limited = "LC_ALL=C; export LC_ALL; { timeout \(patience.components.seconds) \(command); } 2>&1"
    guard let pipe = popen(limited, "r") else { return ("", -1) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while case let count = fread(&buffer, 1, buffer.count, pipe), count > 0 { bytes += buffer.prefix(count) }
    return (String(decoding: bytes, as: UTF8.self), pclose(pipe))
}

/// What a program in Python prints about each of some files: a line of JSON.
///
/// - Parameter script: a fixture.
func answers<Answer: Decodable>(of script: String, about files: [String]) throws -> [Answer] {
    // What the program says of files that it refuses goes to standard error.
    let answer = output(
        of: "env -i /usr/bin/python3 -W ignore '\(PackageFileSystem.fixtures)/\(script)' "
            + "\(files.joined(separator: " ")) 2>/dev/null")
    try #require(answer.status == 0, "\(answer.text)")
    return try answer.text.split(separator: "\n").map { try JSONDecoder().decode(Answer.self, from: Data($0.utf8)) }
}

/// The installed monit.
enum Monit {
    static let path = "/usr/bin/monit"
    static let isThere = access(path, X_OK) == 0
    static let reason = "\(path) is not installed"

    /// The values in its output about a process, by name; nil if it rejects the file.
    static func read(_ text: String) throws -> [(name: String, value: String)]? {
        let folder = try ScratchFolder()
        let head = "set idfile \(folder.path)/id\nset statefile \(folder.path)/state\nset pidfile \(folder.path)/pid\n"
        let file = try folder.write(head + text, to: "monitrc")
        let answer = output(of: "\(path) -v -t -c \(file)")
        guard answer.status == 0 else { return nil }
        let lines = answer.text.split(separator: "\n")
        let process = lines.drop { !$0.hasPrefix("Process Name") }.prefix { !$0.hasPrefix("System Name") }
        return (lines.filter { $0.hasPrefix(" Poll time") } + process).compactMap { line in
            guard let equals = line.firstIndex(of: "=") else { return nil }
            func trimmed(_ text: Substring) -> String { text.split(separator: " ").joined(separator: " ") }
            return (trimmed(line[..<equals]), trimmed(line[line.index(after: equals)...]))
        }
    }
}
