// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogVerdict

@testable import WatchdogSymbolication

@Suite("The same stacks as other tools", .reapsChildren)
struct ComparisonTests {
    @Test("as eu-stack", .enabled(if: isInstalled("eu-stack"), "eu-stack is not installed"))
    func euStack() throws {
        for process in [try Subject.chain.start(threads: 2), try Subject.chain.start("handler", threads: 2)] {
            let captured = try symbolicate(process)
            // It prints "#2  0x0000562a6cb5b38b middle", and exits with 1 if a stack ends in a way that it rejects.
            let text = try output(of: ["eu-stack", "-p", "\(process.id)"], allowing: [0, 1])
            let stacks = text.split(separator: "TID ").dropFirst()
            #expect(stacks.count == captured.threads.count)
            for (stack, thread) in zip(stacks, captured.threads) {
                let addresses = stack.split(separator: "\n").dropFirst().compactMap { line in
                    line.split(separator: " ").dropFirst().first.flatMap { UInt64($0.dropFirst(2), radix: 16) }
                }
                #expect(stack.hasPrefix("\(thread.id):"))
                #expect(thread.frames.machineAddresses == addresses)
            }
        }
    }

    @Test("as gdb", .enabled(if: isInstalled("gdb"), "gdb is not installed"))
    func gdb() throws {
        let process = try Subject.chainWithLines.start("inlined", threads: 2)
        let captured = try symbolicate(process)
        let command = ["gdb", "-batch", "-nx", "-p", "\(process.id)", "-ex", "set backtrace past-main on"]
        let text = try output(of: command + ["-ex", "thread 1", "-ex", "bt"])
        // "#3  inlined_middle (value=1) at chain.c:57" or "#5  0x0000… in main () at …"
        let names = text.split(separator: "\n").filter { $0.hasPrefix("#") }.compactMap { line -> String? in
            let words = line.split(separator: " ").dropFirst()
            return words.first?.hasPrefix("0x") ?? false
                ? words.dropFirst(2).first.map(String.init) : words.first.map(String.init)
        }
        let own = ["inlined_leaf", "inlined_middle", "holds_inlined", "main"]
        #expect(names.filter(own.contains) == own)
        #expect(try captured.main.frames.names.filter(own.contains) == own)
    }

    @Test("as eu-stack, in python3", .enabled(if: isInstalled("python3") && isInstalled("eu-stack"), "not installed"))
    func python() throws {
        let program = """
            import select, threading, time
            def deep(n):
                if n: return deep(n - 1)
                print("ready", flush=True)
                select.select([], [], [], 1000)
            threading.Thread(target=lambda: time.sleep(1000), daemon=True).start()
            deep(5)
            """
        let process = try Process(["python3", "-c", program])
        try process.waitUntilReady()
        try process.waitUntilAsleep(threads: 2)
        try process.stop()
        try expectSameAddresses(try symbolicate(process), process)
    }

    @Test(
        "as eu-stack, in redis-server",
        .enabled(if: isInstalled("redis-server") && isInstalled("eu-stack"), "not installed"))
    func redis() throws {
        let socket = "/tmp/watchdog-redis-\(getpid()).sock"
        defer { unlink(socket) }
        let process = try Process(["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--hz", "1"])
        try #require(eventually { contents(of: "/proc/\(process.id)/wchan") == "do_epoll_wait" })
        try process.waitUntilAsleep(threads: 4)
        // Once a second it performs its tasks on a different stack.
        try process.stop()
        let captured = try symbolicate(process)
        #expect(try captured.main.frames.contain(chain: ["aeMain", "main"]))
        #expect(captured.threads.contains { $0.frames.contain(chain: ["bioProcessBackgroundJobs", "start_thread"]) })
        try expectSameAddresses(captured, process)
    }

    private func expectSameAddresses(_ captured: CapturedProcess, _ process: Process) throws {
        let text = try output(of: ["eu-stack", "-p", "\(process.id)"], allowing: [0, 1])
        var compared = 0
        for stack in text.split(separator: "TID ").dropFirst() {
            let lines = stack.split(separator: "\n")
            guard let number = lines.first?.prefix(while: \.isNumber), let id = Int(number),
                let thread = captured.threads.first(where: { $0.id == id })
            else { continue }
            let addresses = lines.dropFirst().compactMap { line in
                line.split(separator: " ").dropFirst().first.flatMap { UInt64($0.dropFirst(2), radix: 16) }
            }
            #expect(thread.frames.machineAddresses == addresses, "\(thread.frames.listing)")
            compared += 1
        }
        #expect(compared >= 2)
    }
}
