// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration

@testable import WatchdogImport

/// Whatever somebody writes into the file of another service manager: it becomes apps that are valid, with notes that fit into
/// a line, or is refused with its place.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzImport(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    let formats: [UInt8: (ImportFormat, String)] = [
        UInt8(ascii: "s"): (.systemd, "web@.service"), UInt8(ascii: "v"): (.supervisord, "supervisord.conf"),
        UInt8(ascii: "m"): (.monit, "monitrc"), UInt8(ascii: "c"): (.compose, "compose.yml"),
        UInt8(ascii: "r"): (.runit, "web"),
    ]
    guard let first = bytes.first, let (format, name) = formats[first] else { return 0 }
    let parts = split(Array(bytes.dropFirst()))
    let files = Files(parts, format, "/etc/systemd/system/\(name)")
    let importer = Importer(files, specifiers: .system, workingDirectory: "/srv")
    do throws(ImportError) {
        check(try importer.importing(files.path, format: format), files)
    } catch {
        checkPlace(error.place, files)
        checkLine(error.description)
    }
    if format == .systemd { checkWrap(importer, files) }
    return 0
}

private func check(_ result: ImportResult, _ files: Files) {
    for app in result.apps {
        precondition(app.definition.configuration != nil)
        let file = ConfigurationFile(path: app.fileName, text: app.text)
        let name = app.name.isTemplate ? (try? AppName("\(app.name)1")) ?? app.name : app.name
        precondition(AppDefinition(name: name, files: [file], specifiers: .system).configuration != nil)
        for line in app.text.split(separator: "\n") where line.first == "#" { checkLine(String(line)) }
    }
    precondition(result.notes.count <= 200_000)
    for note in result.notes {
        checkPlace(note.place, files)
        checkLine(note.description)
    }
    checkLine(result.summary)
}

/// The drop-in for `watchdogd run` changes nothing else.
private func checkWrap(_ importer: Importer<Files>, _ files: Files) {
    var options = UnitWrap.Options()
    options.words = ["--update", "10 s", "a;b", "%i$x\\\"\n"]
    do throws(ImportError) {
        let wrap = try importer.wrapping("web@.service", options)
        let lines = wrap.text.split(separator: "\n", omittingEmptySubsequences: false)
        precondition(lines[0] == UnitWrap.mark && lines.count { $0.hasPrefix("ExecStart=") } == 2)
        precondition(lines.count { $0 == "[Service]" } == 1 && lines.count <= 24)
        for note in wrap.notes { checkLine(note) }
        let whole = UnitWrap.difference(from: nil, to: wrap.text)
        precondition(whole.split(separator: "\n").allSatisfy { $0.hasPrefix("+") })
    } catch {
        checkPlace(error.place, files)
        checkLine(error.description)
    }
}

private func checkPlace(_ place: ImportPlace, _ files: Files) {
    guard let line = place.line else { return }
    guard let contents = files.files[place.file] else { preconditionFailure("no such file") }
    precondition(line >= 1 && line <= contents.count { $0 == 0x0a } + 1)
}

private func checkLine(_ text: String) {
    precondition(text.utf8.count <= 32_768)
    precondition(text.singleLine() == text)
}

// MARK: - Files

/// A file, or the files of a folder; what follows are the drop-ins of a unit.
private struct Files: ConfigurationFileSystem {
    let path: String
    private(set) var files: [String: [UInt8]] = [:]

    init(_ parts: [[UInt8]], _ format: ImportFormat, _ path: String) {
        self.path = path
        for (index, part) in parts.enumerated() {
            if format == .runit {
                let names = ServiceFolder.read + ["finish", "check", "down", "log"]
                files["\(path)/\(names[index % names.count])"] = part
            } else {
                files[index == 0 ? path : "\(path).d/\(index).conf"] = part
            }
        }
    }

    func contents(of path: String, limit: Int) throws(ConfigurationReadError) -> [UInt8] {
        guard let contents = files[path] else { throw ConfigurationReadError(isMissing: true, "no such file") }
        return Array(contents.prefix(limit))
    }

    func names(in directory: String) throws(ConfigurationReadError) -> [String] {
        let folder = directory.hasSuffix("/") ? directory : directory + "/"
        let names = Set(
            files.keys.filter { $0.hasPrefix(folder) }.map { file in
                String(file.dropFirst(folder.count).prefix { $0 != "/" })
            })
        guard !names.isEmpty else { throw ConfigurationReadError(isMissing: true, "no such folder") }
        return names.sorted()
    }
}

/// The parts between lines `---8<---`.
private func split(_ bytes: [UInt8]) -> [[UInt8]] {
    var parts: [[UInt8]] = [[]]
    for line in bytes.split(separator: 0x0a, omittingEmptySubsequences: false) {
        if line.elementsEqual("---8<---".utf8), parts.count < 12 {
            parts.append([])
        } else {
            parts[parts.count - 1] += line + [0x0a]
        }
    }
    return parts
}
