// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogLinux
import WatchdogReportStore

@Suite("Exported files")
struct ExportedFileTests {
    private func inFolder(_ body: (String) throws -> Void) throws {
        var template = Array("/tmp/watchdog-export-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer {
            for name in names(in: path) { unlink("\(path)/\(name)") }
            rmdir(path)
        }
        try body(path)
    }

    private func names(in folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            names.append(
                withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
        }
        return names.filter { $0 != "." && $0 != ".." }.sorted()
    }

    private func text(_ path: String) -> String? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }

    private func mode(_ path: String) -> UInt32 {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o777 : 0
    }

    @Test("A resolved folder gets the file, even if it is replaced, and no link in it is followed")
    func heldFolder() throws {
        try inFolder { folder in
            let (path, moved, other) = ("\(folder)/a", "\(folder)/b", "\(folder)/other")
            defer {
                for name in [path, moved] { for file in names(in: name) { unlink("\(name)/\(file)") }; rmdir(name) }
            }
            #expect(mkdir(path, 0o700) == 0)
            let held = try OwnedDescriptor(opening: path, flags: O_RDONLY | O_DIRECTORY)
            let lines = try ExportedLines(ExportPlace("\(path)/file", folder: held, name: "file"))
            try lines.write("one\n")
            #expect(rename(path, moved) == 0 && mkdir(path, 0o700) == 0)
            try lines.finish()
            #expect(names(in: path).isEmpty && names(in: moved) == ["file"])
            #expect(text("\(moved)/file") == "one\n")
            try ExportedFile.write("kept", to: other)
            #expect(symlink(other, "\(moved)/link") == 0)
            let place = ExportPlace("\(path)/link", folder: held, name: "link")
            #expect(throws: ReportStoreError.self) { try ExportedFile.write("new", to: place) }
            #expect(text(other) == "kept")
            // A user who names a link of their own means its target.
            try ExportedFile.write("new", to: "\(moved)/link")
            #expect(text(other) == "new")
        }
    }

    @Test(
        "A full disk keeps the old file, without a partial new one",
        .enabled(if: geteuid() == 0, "mounts a small disk"))
    func fullDisk() throws {
        try inFolder { folder in
            guard mount("tmpfs", folder, "tmpfs", 0, "size=16k") == 0 else {
                return print("skipped: no tmpfs may be mounted")
            }
            defer { umount2(folder, 2) }
            let path = "\(folder)/report.html"
            try ExportedFile.write("old", to: path)
            let large = String(repeating: "x", count: 64 << 10)
            #expect(throws: ReportStoreError.self) { try ExportedFile.write(large, to: path) }
            #expect(throws: ReportStoreError.self) { try ExportedFile.create(large, in: folder, suffix: ".html") }
            #expect(text(path) == "old" && names(in: folder) == ["report.html"])
        }
    }

    @Test("A new file is private to the owner; a replacement keeps the mode, and nothing else is left")
    func replaces() throws {
        try inFolder { folder in
            let path = "\(folder)/report.html"
            try ExportedFile.write("one", to: path)
            #expect(text(path) == "one" && mode(path) == 0o600)
            chmod(path, 0o644)
            var before = stat()
            var after = stat()
            lstat(path, &before)
            try ExportedFile.write("two", to: path)
            lstat(path, &after)
            #expect(text(path) == "two" && mode(path) == 0o644)
            #expect(before.st_ino != after.st_ino, "it was not written in place")
            #expect(names(in: folder) == ["report.html"])
        }
    }

    @Test("Incomplete lines leave the file unchanged; completed ones replace it")
    func lines() throws {
        try inFolder { folder in
            let path = "\(folder)/lines"
            try ExportedFile.write("old", to: path)
            do {
                let abandoned = try ExportedLines(path: path)
                try abandoned.write("new\n")
                #expect(text(path) == "old")
            }
            #expect(text(path) == "old" && names(in: folder) == ["lines"])
            let lines = try ExportedLines(path: path)
            try lines.write("new\n")
            try lines.write("er\n")
            try lines.finish()
            #expect(text(path) == "new\ner\n" && names(in: folder) == ["lines"])
        }
    }

    @Test("A link stays a link and a device a device: they are written in place")
    func inPlace() throws {
        try inFolder { folder in
            try ExportedFile.write("old and long", to: "\(folder)/target")
            try #require(symlink("target", "\(folder)/link") == 0)
            try ExportedFile.write("new", to: "\(folder)/link")
            #expect(text("\(folder)/target") == "new")
            #expect(names(in: folder) == ["link", "target"])
            try ExportedFile.write("gone", to: "/dev/null")
            var status = stat()
            #expect(lstat("/dev/null", &status) == 0 && status.st_mode & S_IFMT == S_IFCHR)
        }
    }

    @Test("A folder that does not exist is named")
    func missing() {
        #expect { try ExportedFile.write("x", to: "/nowhere/x") } throws: { "\($0)".contains("/nowhere/x") }
    }
}
