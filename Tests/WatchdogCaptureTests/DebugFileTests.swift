// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogLinux

@testable import WatchdogCapture

@Suite("Debug files")
struct DebugFileTests {
    private static let buildID = "0123456789abcdef"

    /// An ELF file with only a build-id and, if requested, an empty symbol table.
    private func file(_ identifier: [UInt8], hasSymbols: Bool = true) -> [UInt8] {
        func word(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.littleEndian, Array.init) }
        func long(_ value: UInt64) -> [UInt8] { withUnsafeBytes(of: value.littleEndian, Array.init) }
        let note = word(4) + word(UInt32(identifier.count)) + word(3) + Array("GNU\0".utf8) + identifier
        func section(_ type: UInt32, _ offset: UInt64, _ size: UInt64) -> [UInt8] {
            word(0) + word(type) + long(0) + long(0) + long(offset) + long(size) + word(0) + word(0) + long(0) + long(0)
        }
        let sections = section(7, 64, UInt64(note.count)) + (hasSymbols ? section(2, 0, 0) : section(11, 0, 0))
        var header: [UInt8] = [0x7f, 0x45, 0x4c, 0x46, 2, 1, 1] + [UInt8](repeating: 0, count: 9)
        header += [3, 0, 62, 0] + word(1) + long(0) + long(0) + long(64 + UInt64(note.count)) + word(0)
        header += [64, 0, 56, 0, 0, 0, 64, 0, 2, 0, 0, 0]
        return header + note + sections
    }

    private func withFolder(_ body: (String) throws -> Void) throws {
        let folder = try temporaryDirectory()
        defer { remove(folder) }
        try body(folder)
    }

    private func remove(_ path: String) {
        guard let stream = opendir(path) else {
            unlink(path)
            return
        }
        var names: [String] = []
        while let entry = readdir(stream) {
            names.append(
                withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                    pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                })
        }
        closedir(stream)
        for name in names where name != "." && name != ".." { remove("\(path)/\(name)") }
        rmdir(path)
    }

    private func write(_ bytes: [UInt8], to path: String) {
        let parts = path.split(separator: "/").dropLast()
        for count in 1...max(parts.count, 1) { mkdir("/" + parts.prefix(count).joined(separator: "/"), 0o755) }
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
        _ = Glibc.write(file, bytes, bytes.count)
        close(file)
    }

    private let wanted = DebugFile.Wanted(buildID: buildID, name: "app", path: "/opt/app/bin/app")
    private let identifier: [UInt8] = [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef]

    @Test(
        "A file is found in every place where tools store it",
        arguments: [
            ".build-id/01/23456789abcdef.debug", "app.debug", "app", "opt/app/bin/app.debug", "opt/app/bin/app",
            "opt/app/bin/.debug/app.debug", "elsewhere/deep/within/x",
        ])
    func places(place: String) throws {
        try withFolder { folder in
            write(file(identifier), to: "\(folder)/\(place)")
            var search = DebugFileSearch(in: ["\(folder)/", "/no/such/folder"])
            #expect(search.find([wanted])[Self.buildID]?.path == "\(folder)/\(place)")
            #expect(search.truncation == nil)
        }
    }

    @Test("A file of another build and one without symbols are named and not used")
    func impostors() throws {
        try withFolder { folder in
            write(file(identifier.reversed()), to: "\(folder)/app.debug")
            var search = DebugFileSearch(in: [folder])
            #expect(search.find([wanted]).isEmpty)
            #expect(
                search.impostor(of: wanted)
                    == "\(folder)/app.debug is of another build: its build-id is efcdab8967452301")
            write(file(identifier, hasSymbols: false), to: "\(folder)/stripped")
            search = DebugFileSearch(in: [folder])
            #expect(search.find([wanted]).isEmpty)
            #expect(search.impostor(of: wanted)?.hasSuffix("is of the right build, but stripped") == true)
        }
    }

    @Test("Pipes, links to folders, truncated files and noise neither stop a search nor are used")
    func noise() throws {
        try withFolder { folder in
            mkfifo("\(folder)/app.debug", 0o644)
            symlink(folder, "\(folder)/again")
            symlink("/dev/zero", "\(folder)/zero")
            for count in [0, 3, 63, 70, 100, 150] {
                write(Array(file(identifier).prefix(count)), to: "\(folder)/cut\(count)")
            }
            write([UInt8](repeating: 0xff, count: 4_096), to: "\(folder)/noise")
            var search = DebugFileSearch(in: [folder])
            #expect(search.find([wanted]).isEmpty)
            #expect(search.truncation == nil)
        }
    }

    @Test("A search ends at its bounds, and reports that")
    func bounds() throws {
        try withFolder { folder in
            for index in 0..<40 { write([], to: "\(folder)/f\(index)") }
            write(file(identifier), to: "\(folder)/a/b/c/d/x")
            var limits = DebugFileSearch.Limits()
            limits.entries = 20
            var search = DebugFileSearch(in: [folder], limits: limits)
            #expect(search.find([wanted]).isEmpty)
            #expect(search.truncation == "the search ended after 20 files")
            search = DebugFileSearch(in: [folder])
            #expect(search.find([wanted]).count == 1)
        }
    }

    @Test("A folder that is too deep is skipped, and the search continues after it")
    func depth() throws {
        try withFolder { folder in
            write(file(identifier.reversed()), to: "\(folder)/a/b/c/d/x")
            write(file(identifier), to: "\(folder)/b/c/x")
            for (depth, omission) in [(2, "directories more than 2 deep were passed over"), (3, nil)] {
                var limits = DebugFileSearch.Limits()
                limits.depth = depth
                // As deep as permitted, without a subfolder: nothing is skipped.
                let empty = DebugFile.Wanted(buildID: "00", name: "none", path: "/none")
                var search = DebugFileSearch(in: ["\(folder)/b"], limits: limits)
                #expect(search.find([empty]).isEmpty)
                #expect(search.omission == nil && search.truncation == nil)
                search = DebugFileSearch(in: [folder], limits: limits)
                #expect(search.find([wanted])[Self.buildID]?.path == "\(folder)/b/c/x")
                #expect(search.truncation == nil)
                #expect(search.omission == (depth == 2 ? omission : "directories more than 3 deep were passed over"))
            }
            var search = DebugFileSearch(in: [folder])
            let deep = DebugFile.Wanted(buildID: "efcdab8967452301", name: "none", path: "/none")
            #expect(search.find([deep]).count == 1)
            #expect(search.omission == nil)
        }
    }

    @Test(
        "A path from a report does not lead out of the folders",
        arguments: ["../../etc/x", "/../x", "/a/../../x", "x\0y"])
    func traversal(path: String) throws {
        try expectNothingBeside(.init(buildID: Self.buildID, name: "app", path: path))
    }

    @Test(
        "A name does not lead out of the folders, nor to anything but a regular file",
        arguments: ["../../../dev/x", "../x", "..", ".", "", "a/../../x", "x\0y", String(repeating: "n", count: 256)])
    func names(name: String) throws {
        try expectNothingBeside(.init(buildID: Self.buildID, name: name, path: "/opt/app"))
    }

    /// Searches in a folder whose sibling is the right file.
    private func expectNothingBeside(
        _ image: DebugFile.Wanted, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        try withFolder { folder in
            write(file(identifier), to: "\(folder)/x")
            let inner = "\(folder)/inner"
            mkdir(inner, 0o755)
            var search = DebugFileSearch(in: [inner])
            #expect(search.find([image]).isEmpty, sourceLocation: sourceLocation)
        }
    }

    @Test("A FIFO or device in place of a debug file is not opened")
    func device() throws {
        try withFolder { folder in
            let path = "\(folder)/app.debug"
            mkfifo(path, 0o644)
            let watch = try OpenWatch(path)
            var search = DebugFileSearch(in: [folder])
            #expect(search.find([wanted]).isEmpty)
            #expect(!watch.sawOpen)
        }
    }

    @Test("A folder is emptied without following links, and every opened descriptor is closed")
    func emptying() throws {
        try withFolder { folder in
            let kept = "\(folder)/kept/file"
            write([1], to: kept)
            let deep = (0..<12).map { "\($0)" }.joined(separator: "/")
            write([1], to: "\(folder)/cache/\(deep)/x")
            symlink("\(folder)/kept", "\(folder)/cache/link")
            let cache = open("\(folder)/cache", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            Debuginfod.empty(cache)
            close(cache)
            #expect(access(kept, F_OK) == 0)
            #expect(access("\(folder)/cache/link", F_OK) != 0)
            let left = (3..<1_024).compactMap { SymbolicLink.target("/proc/self/fd/\($0)") }
            #expect(left.filter { $0.hasPrefix(folder) } == [])
        }
    }
}
