// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogReport
import WatchdogVerdict

@testable import WatchdogCapture
@testable import WatchdogSymbolication

@Suite("The images of a process", .reapsChildren)
struct ImageTests {
    @Test("have the build-ids that readelf shows, and ascend")
    func buildIDs() throws {
        let captured = try symbolicate(try Subject.serviceOptimized.start("1", threads: 2))
        var compared = 0
        for image in captured.images where image.path.hasPrefix("/") {
            guard isInstalled("readelf") else { break }
            let notes = try output(of: ["readelf", "-n", image.path])
            let line = notes.split(separator: "\n").first { $0.contains("Build ID:") }
            #expect(image.buildID == line.flatMap { $0.split(separator: " ").last.map(String.init) }, "\(image.path)")
            compared += 1
        }
        #expect(compared >= 5)
        #expect(captured.images.map(\.base) == captured.images.map(\.base).sorted())
        #expect(captured.images.contains { $0.name == "[vdso]" && $0.buildID?.count == 40 })
        #expect(captured.images.allSatisfy { $0.architecture == "x86_64" && $0.size > 0 })
        for frame in captured.threads.flatMap(\.frames) {
            let image = captured.images[frame.imageIndex]
            #expect(frame.imageOffset == frame.address - image.base)
            #expect(frame.imageOffset <= image.size)
        }
    }

    @Test("keep their names and lines when the file is deleted and replaced")
    func replaced() throws {
        let original = try Subject.chainWithLines.executable()
        let path = "\(original).copy-\(getpid())"
        try output(of: ["cp", original, path])
        defer { unlink(path) }
        let process = try Process([path])
        try process.waitUntilReady()
        try process.waitUntilAsleep(threads: 2)
        unlink(path)
        try output(of: ["cp", "/bin/true", path])
        let captured = try symbolicate(process)
        let frames = try captured.main.frames
        #expect(frames.contain(chain: ["innermost", "middle", "outer", "main"]))
        let middle = try #require(frames.first { $0.symbol == "middle" })
        try #expect(middle.sourceLine == (line(containing: "return innermost(value * 3)", in: "chain.c")))
        let image = captured.images[middle.imageIndex]
        #expect(image.path == "\(path) (deleted)")
        #expect("/\(image.name)" == path.dropFirst(path.count - image.name.count - 1))
    }

    @Test("are opened by path without a descriptor, unless the file was replaced")
    func byPath() throws {
        let original = try Subject.chain.executable()
        let path = "\(original).bypath-\(getpid())"
        try output(of: ["cp", original, path])
        defer { unlink(path) }
        let process = try Process([path])
        try process.waitUntilReady()
        try process.waitUntilAsleep(threads: 2)
        let contents = try Snapshot.take(of: process.id, SnapshotOptions(method: .ptrace, stopTimeout: patience))
            .contents()
        let opened = try symbolicate(contents, modules: [])
        #expect(try opened.main.frames.contain(chain: ["innermost", "middle", "outer", "main"]))
        #expect(opened.notes.contains { $0.hasPrefix("\(path): opened by its path") })
        unlink(path)
        try output(of: ["cp", "/bin/true", path])
        let refused = try symbolicate(contents, modules: [])
        #expect(try !refused.main.frames.names.contains("middle"))
        #expect(refused.notes.contains { $0.hasPrefix("\(path): the file was not passed") })
        #expect(try refused.image(String(path.split(separator: "/").last ?? "")).buildID == nil)
    }

    @Test("are distinguished by file and offset")
    func grouping() {
        func mapping(
            _ start: UInt64, _ path: String, inode: UInt64, offset: UInt64, code: Bool = false
        ) -> SnapshotMapping {
            SnapshotMapping(
                start: start, end: start + 0x1000, isReadable: true, isWritable: false, isExecutable: code,
                offset: offset, deviceMajor: 8, deviceMinor: 1, inode: inode, path: path)
        }
        let images = Image.images(of: [
            mapping(0x1000, "/a", inode: 1, offset: 0),
            mapping(0x2000, "/a", inode: 1, offset: 0x1000, code: true),
            mapping(0x3000, "", inode: 0, offset: 0),
            mapping(0x5000, "/a", inode: 1, offset: 0x2000),
            mapping(0x8000, "/a", inode: 1, offset: 0, code: true),
            mapping(0x9000, "/data", inode: 2, offset: 0),
            mapping(0xa000, "/a", inode: 3, offset: 0x1000, code: true),
            mapping(0xb000, "[vdso]", inode: 0, offset: 0, code: true),
            mapping(0xc000, "[heap]", inode: 0, offset: 0, code: true),
        ])
        #expect(images.map(\.range) == [0x1000..<0x6000, 0x8000..<0x9000, 0xa000..<0xb000, 0xb000..<0xc000])
        #expect(images.map(\.name) == ["a", "a", "a", "[vdso]"])
        #expect(images.map(\.isVDSO) == [false, false, false, true])
    }
}
