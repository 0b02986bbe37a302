// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing

@testable import WatchdogCapture

@Suite("A snapshot of a process with generated code", .reapsChildren)
struct PerfMapCaptureTests {
    private static let interpreter = "/usr/bin/python3"

    /// The object in place of the perf map.
    enum Place: CaseIterable {
        case file, nothing, symbolicLink, pipe, directory, foreignFile
    }

    /// - Parameter isGenerating: whether the process has a page of executable memory that belongs to no file.
    private func subject(isGenerating: Bool = true) throws -> Subject? {
        guard access(Self.interpreter, X_OK) == 0 else {
            print("skipped: there is no \(Self.interpreter)")
            return nil
        }
        let flags = "flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS"
        let code = isGenerating ? "code = mmap.mmap(-1, 4096, \(flags), prot=7); " : ""
        let subject = try Subject(
            Self.interpreter, ["-c", "import mmap, time; \(code)print('ready', flush=True); time.sleep(1000)"])
        while try subject.line() != "ready" {}
        return subject
    }

    @Test("has the perf map only if it is a regular file of the process's user", arguments: Place.allCases)
    func place(_ place: Place) throws {
        if place == .foreignFile, geteuid() != 0 {
            print("skipped: only root can give files away")
            return
        }
        guard let subject = try subject() else { return }
        let path = "/tmp/perf-\(subject.process).map"
        let target = "\(path).target"
        defer {
            unlink(path)
            rmdir(path)
            unlink(target)
        }
        switch place {
        case .file: try write(path)
        case .nothing: break
        case .symbolicLink:
            try write(target)
            #expect(symlink(target, path) == 0)
        case .pipe: #expect(mkfifo(path, 0o600) == 0)
        case .directory: #expect(mkdir(path, 0o700) == 0)
        case .foreignFile:
            try write(path)
            #expect(chown(path, 65_534, 65_534) == 0)
        }
        let snapshot = try Snapshot.take(of: subject.process, .patient)
        let index = try snapshot.contents().perfMap
        #expect((index != nil) == (place == .file))
        if let index {
            var bytes = [UInt8](repeating: 0, count: 64)
            let count = pread(snapshot.modules[index], &bytes, bytes.count, 0)
            #expect(String(decoding: bytes.prefix(max(0, count)), as: UTF8.self) == "1000 10 f\n")
        }
    }

    @Test("looks for no perf map if all code is in files")
    func withoutGeneratedCode() throws {
        guard let subject = try subject(isGenerating: false) else { return }
        let path = "/tmp/perf-\(subject.process).map"
        defer { unlink(path) }
        try write(path)
        #expect(try Snapshot.take(of: subject.process, .patient).contents().perfMap == nil)
    }

    private func write(_ path: String) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        try #require(file >= 0, "\(path): \(String(cString: strerror(errno)))")
        defer { close(file) }
        #expect(Glibc.write(file, "1000 10 f\n", 10) == 10)
    }
}
