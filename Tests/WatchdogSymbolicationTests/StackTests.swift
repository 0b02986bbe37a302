// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogVerdict

@testable import WatchdogSymbolication

@Suite("The stacks of programs with known stacks", .reapsChildren)
struct StackTests {
    @Test(
        "are complete in C without frame pointers or debug information",
        arguments: [CapturedProcess.Method.ptrace, .procfsRegisters])
    func chain(method: CapturedProcess.Method) throws {
        let process = try Subject.chain.start(threads: 2)
        let captured = try symbolicate(process, method: method)
        #expect(captured.method == method)
        #expect(captured.threads.map(\.id).first == Int(process.id))
        let main = try captured.main
        #expect(main.frames.names.first == "pause")
        #expect(main.frames.contain(chain: ["innermost", "middle", "outer", "main", "__libc_start_call_main"]))
        #expect(main.frames.names.last == "_start")
        #expect(main.frames.first?.trust == .registers)
        #expect(main.frames.dropFirst().allSatisfy { $0.trust == .cfi })
        let worker = try captured.thread("chain-worker")
        #expect(worker.frames.contain(chain: ["poll", "waits_for_nothing", "worker", "start_thread"]))
        #expect(worker.state == "S")
        #expect(captured.notes == [])
    }

    @Test("have the same addresses in C without symbols")
    func stripped() throws {
        let whole = try symbolicate(try Subject.chain.start(threads: 2))
        let stripped = try symbolicate(try Subject.chainStripped.start(threads: 2))
        func offsets(_ process: CapturedProcess) throws -> [UInt64] {
            try process.main.frames.filter { !$0.isInlined }.map(\.imageOffset)
        }
        #expect(try offsets(stripped) == offsets(whole))
        let own = try stripped.main.frames.filter { stripped.images[$0.imageIndex].name.hasPrefix("chain") }
        #expect(own.count == 5)
        #expect(own.allSatisfy { $0.symbol == nil && $0.symbolLocation == nil })
        #expect(try stripped.main.frames.first?.symbol == "pause")
    }

    @Test("are complete in C++ with namespaces, templates, a virtual call and a lambda")
    func templates() throws {
        let captured = try symbolicate(try Subject.templates.start())
        let frames = try captured.main.frames
        let names = frames.names
        #expect(names.contains("shop::detail::Box<double, 100>::wait(double)"), "\(frames.listing)")
        #expect(names.contains { $0.hasPrefix("shop::detail::Box<double, 100>::price(std::") })
        #expect(
            names.contains { $0.hasPrefix("shop::checkout(shop::Item&, std::function<long (shop::Item&)> const&)") })
        #expect(frames.contain(chain: ["main", "__libc_start_call_main"]))
        let price = try #require(frames.first { $0.symbol?.contains("::price(") ?? false })
        #expect(price.sourceFile?.hasSuffix("/Subjects/templates.cpp") ?? false)
        try #expect(price.sourceLine == (line(containing: "return wait(value)", in: "templates.cpp")))
    }

    @Test(
        "are complete in Swift, built in every way",
        arguments: [Subject.serviceDebug, .serviceOptimized, .serviceWithLines, .serviceStatic]
    )
    func service(subject: Subject) throws {
        let captured = try symbolicate(try subject.start("3", threads: 4))
        let chain = ["Waiter.work(on:)", "Service.perform(_:_:)", "Service.run(depth:)"]
        let recursion = ["Service.run(depth:)", "Service.run(depth:)", "Service.run(depth:)"]
        for thread in captured.threads {
            let frames = thread.frames
            let own = frames.filter { chain.contains([$0].names[0]) && !$0.isInlined }
            #expect(own.names.starts(with: chain), "\(frames.listing)")
            #expect(frames.contain(chain: recursion), "\(frames.listing)")
            #expect(!frames.names.contains("?"), "\(frames.listing)")
            #expect(frames.contain(chain: ["_dispatch_sema4_wait", "_dispatch_semaphore_wait_slow"]))
        }
        #expect(try captured.main.frames.contain(chain: recursion + ["Service.run(depth:)", "main"]))
        let names = captured.threads.map(\.name)
        #expect(names.dropFirst().sorted() == ["worker-0", "worker-1", "worker-2"])
        let worker = try captured.thread("worker-1")
        #expect(worker.frames.contain(chain: recursion + ["closure #1 in startThread(_:)", "start_thread"]))
        #expect(captured.notes == [])
    }

    @Test(
        "are complete in blocked Swift functions without call frame information",
        arguments: [Subject.nounwind, .nounwindStripped])
    func nounwind(subject: Subject) throws {
        let frames = try symbolicate(try subject.start()).main.frames
        let names = ["locks(_:)", "third(_:_:)", "second(_:_:)", "first(_:_:)", "main"]
        let start = try #require(frames.firstIndex { $0.symbol == "pthread_mutex_lock" && !$0.isInlined }) + 1
        let own = frames.dropFirst(start).prefix(names.count)
        if !subject.isStripped { #expect(own.map(\.symbol) == names, "\(frames.listing)") }
        #expect(own.dropFirst().map(\.trust) == Array(repeating: .prologue, count: 4), "\(frames.listing)")
        #expect(frames.dropFirst(start + names.count).first?.symbol == "__libc_start_call_main", "\(frames.listing)")
        #expect(frames.last?.trust == .cfi)
    }

    @Test("are complete in spinning Swift functions without call frame information")
    func spinning() throws {
        let process = try Subject.nounwind.start("spin", running: 1)
        try #require(try eventually { try symbolicate(process).main.frames.first?.symbol == "spins(_:)" })
        for _ in 0..<20 {
            let frames = try symbolicate(process).main.frames
            let names = ["spins(_:)", "third(_:_:)", "second(_:_:)", "first(_:_:)", "main", "__libc_start_call_main"]
            #expect(frames.contain(chain: names), "\(frames.listing)")
            #expect(frames.first?.trust == .registers)
        }
    }

    @Test("show a signal handler above the interrupted code")
    func signalHandler() throws {
        let frames = try symbolicate(try Subject.chain.start("handler", threads: 2)).main.frames
        let handler = ["pause", "waits_in_handler", "__restore_rt", "__pthread_kill_implementation", "raise", "raises"]
        #expect(frames.contain(chain: handler + ["main"]), "\(frames.listing)")
    }

    @Test(
        "are complete in a main thread that waits for the child that it starts", arguments: ["vfork", "spawn"],
        [CapturedProcess.Method.ptrace, .procfsRegisters])
    func startingChild(how: String, method: CapturedProcess.Method) throws {
        let fifo = "\(try Subject.buildDirectory())/fifo-\(getpid())-\(method.rawValue)"
        mkfifo(fifo, 0o600)
        defer {
            // The child that it waits for continues and exits.
            close(open(fifo, O_RDWR | O_CLOEXEC))
            unlink(fifo)
        }
        let process = try Process([try Subject.chain.executable(), how, fifo])
        try process.waitUntilReady()
        try process.waitUntilSuspended()
        let frames = try symbolicate(process, method: method).main.frames
        let names = how == "vfork" ? ["vfork", "vforks"] : ["posix_spawn", "spawns"]
        #expect(frames.contain(chain: names + ["main", "__libc_start_call_main"]), "\(frames.listing)")
        #expect(!frames.contains { $0.trust == .scan }, "\(frames.listing)")
    }

    @Test(
        "show both ends of a very deep stack, and state that; the deeper one's outer end was captured separately",
        arguments: [("2000", CapturedProcess.Method.ptrace), ("40000", .ptrace), ("40000", .procfsRegisters)])
    func deep(depth: String, method: CapturedProcess.Method) throws {
        let captured = try symbolicate(try Subject.chain.start("deep", depth, threads: 2), method: method)
        let frames = try captured.main.frames
        #expect(frames.count == 512)
        #expect(frames.contain(chain: ["pause", "innermost", "recurses", "recurses"]))
        #expect(frames.contain(chain: ["recurses", "recurses", "main", "__libc_start_call_main"]), "\(frames.listing)")
        #expect(frames.last?.symbol == "_start")
        #expect(frames.map(\.trust).suffix(64).allSatisfy { $0 == .outerEnd })
        #expect(!frames.map(\.trust).dropLast(64).contains(.outerEnd))
        #expect(
            captured.notes == ["threads \(try captured.main.id): only their innermost and outermost frames are shown"])
        #expect(try captured.thread("chain-worker").frames.last?.symbol == "clone3")
    }

    @Test("are empty in a process without registers, which has threads but no frames")
    func factsOnly() throws {
        let captured = try symbolicate(try Subject.chain.start(threads: 2), method: .procfs)
        #expect(captured.threads.count == 2)
        #expect(captured.threads.allSatisfy { $0.frames.isEmpty && $0.registers.isEmpty })
        #expect(captured.images.contains { $0.name == "libc.so.6" })
    }
}
