// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing

@testable import WatchdogLinux

@Suite("Looking up a command", .reapsChildren)
struct ExecutableLookupTests {
    private func failure(
        _ command: String,
        path: String = "/usr/bin:/bin",
        in directory: String? = nil
    ) throws -> ExecutableLookupError {
        try #require(throws: ExecutableLookupError.self) {
            try resolveExecutable(command, path: path, workingDirectory: directory)
        }
    }

    @Test("a name is searched in the directories of the search path, in order")
    func searchPath() throws {
        try withTemporaryDirectory { directory in
            for name in ["first", "second"] {
                mkdir("\(directory)/\(name)", 0o755)
                try writeProgram("#!/bin/sh\n", to: "\(directory)/\(name)/tool")
            }
            let path = "\(directory)/none:\(directory)/second:\(directory)/first"
            #expect(try resolveExecutable("tool", path: path) == "\(directory)/second/tool")
            // A file that may not be executed does not end the search.
            chmod("\(directory)/second/tool", 0o644)
            #expect(try resolveExecutable("tool", path: path) == "\(directory)/first/tool")
            chmod("\(directory)/first/tool", 0o644)
            let error = try failure("tool", path: path)
            #expect(error.reason == .permissionDenied)
            #expect(error.shellCode == 126)
            #expect("\(error)" == "\(directory)/second/tool: permission denied")
        }
    }

    @Test("an empty element and a relative path refer to the directory in which the program will start")
    func relative() throws {
        try withTemporaryDirectory { directory in
            try writeProgram("#!/bin/sh\necho found\n", to: "\(directory)/tool")
            #expect(try resolveExecutable("tool", path: "/bin:", workingDirectory: directory) == "./tool")
            #expect(try resolveExecutable("./tool", path: "", workingDirectory: directory) == "./tool")
            var request = SpawnRequest(executable: "./tool", arguments: ["tool"])
            request.workingDirectory = ByteString(directory)
            #expect(try run(request).output == "found\n")
        }
    }

    @Test("a file that is not a program is distinguished from a missing one")
    func obstacles() throws {
        let missing = try failure("no-such-command")
        #expect("\(missing)" == "no-such-command: command not found")
        #expect(missing.shellCode == 127)
        #expect("\(try failure("/no/such/file"))" == "/no/such/file: no such file")
        let directory = try failure("/tmp")
        #expect("\(directory)" == "/tmp: is a directory")
        #expect(directory.shellCode == 126)
        #expect("\(try failure("/dev/null"))" == "/dev/null: is not a regular file")
        #expect("\(try failure("/etc/passwd"))" == "/etc/passwd: permission denied")
        #expect(try failure("").reason == .notFound)
    }
}

@Suite("Environment")
struct EnvironmentTests {
    @Test("variables keep their order, later values win, and nil removes a variable")
    func order() {
        var environment: Environment = ["B": "1", "A": "2", "B": "3"]
        #expect(environment.entries == ["B=3", "A=2"])
        environment["C"] = ""
        environment["B"] = nil
        #expect(environment.entries == ["A=2", "C="])
        #expect(environment["C"] == "" && environment["B"] == nil)
        environment["B"] = "4"
        #expect(environment.entries == ["A=2", "C=", "B=4"])
    }

    @Test("entries are copied byte for byte, and an entry without a name is omitted")
    func entries() {
        let odd = ByteString(bytes: [0x58, 0x3d, 0xff, 0x3d])
        let environment = Environment(entries: ["A=b=c", "=x", "nothing", odd])
        #expect(environment.entries == ["A=b=c", odd])
        #expect(environment["A"] == "b=c")
    }

    @Test("the inherited environment is the process's own")
    func inherited() {
        #expect(Environment.inherited["PATH"] == getenv("PATH").map { String(cString: $0) })
        #expect(Environment.inherited.entries.count == Set(Environment.inherited.entries).count)
    }

    @Test("a byte string ends at its first NUL")
    func byteStrings() {
        #expect(ByteString(bytes: [0x61, 0, 0x62]).bytes == [0x61])
        #expect(ByteString("a\0b") == "a")
        #expect(ByteString.commandLine.count == Int(CommandLine.argc))
    }
}
