// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Testing
import WatchdogConfiguration
import WatchdogImport

/// Files by their absolute paths.
struct MemoryFileSystem: ConfigurationFileSystem {
    var files: [String: String] = [:]
    /// The targets of links, by their paths; only absolute ones are followed.
    var links: [String: String] = [:]

    func link(at path: String) -> String? { links[path] }

    func contents(of path: String, limit: Int) throws(ConfigurationReadError) -> [UInt8] {
        var path = path
        while let target = links[path], files[path] == nil { path = target }
        guard let text = files[path] else {
            throw ConfigurationReadError(isMissing: true, "cannot open \(path): No such file or directory (ENOENT)")
        }
        return Array(text.utf8.prefix(limit))
    }

    func names(in directory: String) throws(ConfigurationReadError) -> [String] {
        let paths = Array(files.keys) + Array(links.keys)
        let names = paths.filter { $0.hasPrefix(directory + "/") }.compactMap {
            $0.dropFirst(directory.count + 1).split(separator: "/").first.map(String.init)
        }
        guard !names.isEmpty else {
            throw ConfigurationReadError(
                isMissing: true, "cannot list \(directory): No such file or directory (ENOENT)")
        }
        return Array(Set(names))
    }
}

/// The files of this package or of the machine.
struct PackageFileSystem: ConfigurationFileSystem {
    static let root = String("/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/"))

    /// runit's services are fixtures at their usual place, because an import names it.
    private func absolute(_ path: String) -> String {
        if path.hasPrefix("/etc/sv/") { return Self.fixtures + path.dropFirst("/etc".count) }
        return path.hasPrefix("/") ? path : "\(Self.fixtures)/\(path)"
    }

    static let fixtures = "\(root)/Tests/WatchdogImportTests/Fixtures"

    func contents(of path: String, limit: Int) throws(ConfigurationReadError) -> [UInt8] {
        guard let data = FileManager.default.contents(atPath: absolute(path)) else {
            throw ConfigurationReadError(isMissing: true, "cannot open \(path)")
        }
        return Array(data.prefix(limit))
    }

    func names(in directory: String) throws(ConfigurationReadError) -> [String] {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: absolute(directory)) else {
            throw ConfigurationReadError(isMissing: true, "cannot list \(directory)")
        }
        return names
    }
}

/// The import of one file at `/srv/NAME`.
func imported(
    _ text: String, as name: String, format: ImportFormat? = nil, others: [String: String] = [:]
) throws -> ImportResult {
    let files = others.merging(["/srv/\(name)": text]) { _, new in new }
    let importer = Importer(MemoryFileSystem(files: files), specifiers: .system, workingDirectory: "/srv")
    return try importer.importing("/srv/\(name)", format: format)
}

/// The import of a unit with these lines in `[Service]`.
func service(_ lines: String, name: String = "web.service") throws -> ImportResult {
    try imported("[Service]\nExecStart=/bin/web\n\(lines)\n[Install]\nWantedBy=multi-user.target\n", as: name)
}

extension ImportResult {
    /// The settings of the only app, without comments and sections.
    var settings: [String] {
        apps.flatMap { $0.text.split(separator: "\n").map(String.init) }.filter {
            !$0.hasPrefix("#") && !$0.hasPrefix("[")
        }
    }

    /// The notes, without the folder.
    var lines: [String] { notes.map { $0.description.replacingPrefix("/srv/") } }
}

extension String {
    fileprivate func replacingPrefix(_ prefix: String) -> String {
        hasPrefix(prefix) ? String(dropFirst(prefix.count)) : self
    }
}

/// The error message of a failed import.
func failure(_ text: String, as name: String, format: ImportFormat? = nil) -> String? {
    do {
        _ = try imported(text, as: name, format: format)
        return nil
    } catch let error as ImportError {
        return error.description.replacingPrefix("/srv/")
    } catch {
        return "\(error)"
    }
}

/// A new folder, which the test removes.
func temporaryFolder() throws -> String {
    var name = Array("/tmp/watchdogd-import-XXXXXX".utf8CString)
    let made = name.withUnsafeMutableBufferPointer { buffer in buffer.baseAddress.flatMap { mkdtemp($0) } }
    try #require(made != nil)
    return String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

/// Runs a command, which must succeed, and waits for its exit.
func run(_ command: [String]) throws {
    let arguments = command.map { strdup($0) }
    defer { for argument in arguments { free(argument) } }
    var pid: pid_t = 0
    try #require(posix_spawn(&pid, command[0], nil, nil, arguments + [nil], environ) == 0)
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0, errno == EINTR {}
    #expect(status == 0)
}
