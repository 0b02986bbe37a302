// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import WatchdogBase

/// A program with known stacks, built from a source in `Subjects`.
struct Subject: Sendable, CustomStringConvertible {
    var source: String
    var compiler: [String]
    var isStripped = false

    var description: String { ([source] + compiler + (isStripped ? ["stripped"] : [])).joined(separator: " ") }

    /// The path of the program; builds it unless that was done before, in this run or another.
    func executable() throws -> String {
        try Subject.building.withLock { _ in
            let source = "\(Subject.sources)/\(source)"
            guard let text = contents(of: source), let compilerPath = path(of: compiler[0]) else {
                throw Failure(description: "\(source) or \(compiler[0]) is missing")
            }
            var status = stat()
            stat(compilerPath, &status)
            let recipe = "\(text) \(self) \(status.st_mtim.tv_sec) \(status.st_size)"
            let directory = try Subject.directory()
            let name = "\(self.source.split(separator: ".")[0])-\(String(FNV1a.hash(of: recipe), radix: 36))"
            let program = "\(directory)/\(name)"
            guard access(program, X_OK) != 0 else { return program }
            let unfinished = "\(program).\(getpid())"
            try output(of: compiler + [source, "-o", unfinished])
            if isStripped { try output(of: ["strip", unfinished]) }
            guard rename(unfinished, program) == 0 else { throw Failure(description: "rename: \(errno)") }
            return program
        }
    }

    /// Starts it and waits until it is ready and its threads are asleep.
    func start(_ arguments: String..., threads: Int = 1, running: Int = 0) throws -> Process {
        let process = try Process([try executable()] + arguments)
        try process.waitUntilReady()
        try process.waitUntilAsleep(threads: threads, running: running)
        return process
    }

    private static let building = Mutex<Void>(())
    private static let sources =
        "\(#filePath)".split(separator: "/").dropLast(2).reduce("") { "\($0)/\($1)" } + "/Subjects"

    /// Beside the tests' own executable.
    static func buildDirectory() throws -> String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        guard count > 0 else { throw Failure(description: "readlink: \(errno)") }
        let path = String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return path.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" }
    }

    private static func directory() throws -> String {
        let directory = "\(try buildDirectory())/subjects"
        mkdir(directory, 0o755)
        if access(directory, W_OK) == 0 { return directory }
        var template = Array("/tmp/watchdog-subjects-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Failure(description: "mkdtemp: \(errno)") }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

extension Subject {
    static let chain = Subject(source: "chain.c", compiler: ["cc", "-O2", "-fomit-frame-pointer", "-pthread"])
    static let chainWithLines = Subject(source: "chain.c", compiler: ["cc", "-O2", "-g", "-pthread"])
    static let chainStatic = Subject(source: "chain.c", compiler: ["cc", "-O2", "-static", "-pthread"])
    static let chainStripped = Subject(
        source: "chain.c", compiler: ["cc", "-O2", "-fomit-frame-pointer", "-pthread"], isStripped: true)
    static let runtimeCode = Subject(source: "runtime-code.c", compiler: ["cc", "-O2"])
    static let busy = Subject(source: "busy.swift", compiler: ["swiftc", "-O", "-g"])
    static let templates = Subject(source: "templates.cpp", compiler: ["c++", "-O2", "-g"])
    static let serviceDebug = Subject(source: "service.swift", compiler: ["swiftc", "-Onone", "-g"])
    static let serviceOptimized = Subject(source: "service.swift", compiler: ["swiftc", "-O"])
    static let serviceWithLines = Subject(source: "service.swift", compiler: ["swiftc", "-O", "-g"])
    static let serviceStatic = Subject(source: "service.swift", compiler: ["swiftc", "-O", "-g", "-static-stdlib"])
    static let nounwind = Subject(source: "nounwind.swift", compiler: ["swiftc", "-O"])
    static let nounwindStripped = Subject(source: "nounwind.swift", compiler: ["swiftc", "-O"], isStripped: true)
    static let inlined = Subject(source: "inlined.swift", compiler: ["swiftc", "-O", "-g"])
    static let tasksDebug = Subject(source: "tasks.swift", compiler: ["swiftc", "-Onone", "-g", "-parse-as-library"])
    static let tasks = Subject(source: "tasks.swift", compiler: ["swiftc", "-O", "-parse-as-library"])
    static let tasksStatic = Subject(
        source: "tasks.swift", compiler: ["swiftc", "-O", "-g", "-static-stdlib", "-parse-as-library"])
}
