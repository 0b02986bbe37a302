// SPDX-License-Identifier: Apache-2.0
//
// A task that blocks a thread of the pool below a chain of asynchronous calls, each after a suspension.
import Glibc

actor Store {
    var hits = 0

    func load(_ depth: Int) async -> Int {
        await Task.yield()
        hits += 1
        if depth > 0 { return await load(depth - 1) &+ hits }
        return blocks(depth) &+ hits
    }

    @inline(never)
    nonisolated func blocks(_ value: Int) -> Int {
        write(1, "ready\n", 6)
        pause()
        return value
    }
}

struct Client {
    let store: Store

    @inline(never)
    func fetch(_ depth: Int) async throws -> Int {
        let value = await store.load(depth)
        try await Task.sleep(nanoseconds: 1)
        return value &+ 1
    }
}

@main
struct Main {
    static func main() async throws {
        let client = Client(store: Store())
        let task = Task.detached { try await client.fetch(2) }
        print(try await task.value)
    }
}
