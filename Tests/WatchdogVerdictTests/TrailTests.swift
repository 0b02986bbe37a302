// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@testable import WatchdogVerdict

@Suite("Trails as text")
struct TrailTests {
    private static let sleep = "230 0x0 0x0 0x7ffd 0x0 0x0 0x0 0x7ffd39e8 0x7f2a9cf0f2ad"
    private static let recv = "45 0x3 0x7ffd 0x1 0x0 0x0 0x0 0x7ffd39e8 0x7f2a9cf0f2ad"
    private static let epoll = "232 0x3 0x7ffd 0x1 0xffffffff 0x0 0x0 0x7ffd39e8 0x7f2a9cf0f2ad"

    private func hop(
        _ link: TrailLink, _ pid: Int, _ name: String, state: String = "S", syscall: String? = nil,
        subject: String? = nil, sight: TrailSight = .whole, isIdle: Bool = false
    ) -> TrailDetails.Hop {
        let wait = syscall.map {
            WaitDetails(process: pid, thread: pid, name: name, syscall: $0, subject: subject, sources: [])
        }
        return .init(
            link: link, process: pid, name: name, sight: sight, thread: pid, state: state, wait: wait, isIdle: isIdle)
    }

    private func process(
        _ pid: Int, state: String, syscall: String?, frames: [(symbol: String, image: String)]
    ) -> OtherProcess {
        let images = frames.map {
            BinaryImage(
                base: 0x1000, size: 0x1000, buildID: nil, path: "/usr/bin/\($0.image)", name: $0.image,
                architecture: "x86_64")
        }
        let stack = frames.enumerated().map { index, frame in
            Frame(
                address: 0x1010, imageIndex: index, imageOffset: 0x10, symbol: frame.symbol, symbolLocation: 1,
                trust: .cfi)
        }
        var process = OtherProcess(pid: pid, parentPID: 1, name: "other", state: Character(state))
        process.capture = CapturedProcess(
            method: .procfsRegisters,
            threads: [CapturedThread(id: pid, name: "other", state: state, syscall: syscall, frames: stack)],
            images: images)
        return process
    }

    private func judged(_ trail: TrailDetails?, _ processes: [OtherProcess] = []) throws -> TrailDetails {
        try #require(trail).judged(by: "web", pid: 1, processes: processes)
    }

    @Test("the last process is the root, and the line describes it")
    func script() throws {
        let redis = process(
            12, state: "R", syscall: "running", frames: [("luaV_execute", "redis"), ("lua_pcall", "redis")])
        let trail = try judged(TrailDetails(hops: [hop(.reply, 12, "redis", state: "R")]), [redis])
        #expect(trail.line == "web waits for a reply of redis (pid 12), which runs a Lua script")
        #expect(trail.root == 12)
    }

    @Test("intermediate processes are named with their waits")
    func chain() throws {
        let sleeper = process(
            101, state: "S", syscall: Self.sleep, frames: [("clock_nanosleep", "libc.so.6"), ("vacuum", "cleaner")])
        let trail = try judged(
            TrailDetails(hops: [
                hop(.reply, 99, "postgres", syscall: Self.recv),
                hop(.recordLock, 101, "cleaner", syscall: Self.sleep),
            ]), [sleeper])
        #expect(
            trail.line
                == "web waits for a reply of postgres (pid 99), which waits for a record lock held by cleaner (pid 101), "
                + "which sleeps, from vacuum")
        #expect(trail.root == 101 && trail.hops.map(\.isIdle) == [false, false])
    }

    @Test("a process that has moved is not described by its later stack")
    func moved() throws {
        let later = process(12, state: "S", syscall: Self.recv, frames: [("serve", "redis")])
        let trail = try judged(TrailDetails(hops: [hop(.reply, 12, "redis", syscall: Self.sleep)]), [later])
        #expect(trail.line.hasSuffix("which sleeps"))
    }

    @Test("an idle process is described as idle, by its wait or by its stack")
    func idle() throws {
        let words = "web waits for a reply of redis (pid 12), which is idle: it waits for a request"
        let byWait = try judged(TrailDetails(hops: [hop(.reply, 12, "redis", syscall: Self.epoll, isIdle: true)]))
        #expect(byWait.line == words && byWait.root == 12)
        let loop = process(
            12, state: "S", syscall: Self.epoll, frames: [("epoll_wait", "libc.so.6"), ("aeMain", "redis")])
        let byStack = try judged(TrailDetails(hops: [hop(.reply, 12, "redis", syscall: Self.epoll)]), [loop])
        #expect(byStack.line == words && byStack.hops[0].isIdle)
    }

    @Test("a cycle has no root and is named as one")
    func cycle() throws {
        let own = try judged(
            TrailDetails(hops: [hop(.fileLock, 12, "cache", syscall: Self.recv)], cycleStart: 0, closing: .fileLock))
        #expect(
            own.line
                == "web waits for a file lock held by cache (pid 12), which waits for a file lock held by web: a cycle")
        #expect(own.root == nil)
        let others = try judged(
            TrailDetails(
                hops: [hop(.reply, 12, "one"), hop(.output, 13, "two")], cycleStart: 1, closing: .drain))
        #expect(
            others.line.hasSuffix(
                "which waits for the output of two (pid 13), which waits for one to read from a pipe: a cycle"))
    }

    @Test("an incomplete trail has no root")
    func cut() throws {
        let hops = (1...5).map { hop(.mutex, $0, "p\($0)") }
        let trail = try judged(TrailDetails(hops: hops, isCut: true))
        #expect(trail.line.hasSuffix("p5 (pid 5), which waits for yet another process") && trail.root == nil)
    }

    @Test(
        "a process that may not be read is described as such",
        arguments: [
            (TrailSight.refused, "S", "which watchdogd may not look at"),
            (.outside, "S", "which is asleep, and which the app's user may not look at"),
            (.outside, "R", "which runs, and which the app's user may not look at"),
            (.outside, "T", "which is stopped"),
        ])
    func rights(sight: TrailSight, state: String, words: String) throws {
        let secret = hop(.fileLock, 12, "db", state: state, syscall: Self.recv, subject: "/secret", sight: sight)
        let trail = try judged(TrailDetails(hops: [secret]))
        #expect(trail.line == "web waits for a file lock held by db (pid 12), \(words)")
        #expect(trail.hops[0].wait == nil)
    }

    @Test(
        "the states of a process have plain words",
        arguments: [("T", "is stopped"), ("Z", "has ended"), ("R", "computes")])
    func states(state: String, words: String) throws {
        #expect(try judged(TrailDetails(hops: [hop(.child, 12, "sh", state: state)])).hops[0].deed == words)
    }

    @Test("a trail with a new first process has one more hop, and its cycle is as far back")
    func beginning() throws {
        let worker = hop(.reply, 11, "worker", syscall: Self.recv)
        let idle = try #require(TrailDetails(hops: [hop(.reply, 12, "redis", isIdle: true)]))
        let trail = try #require(idle.beginning(with: worker)).judged(by: "the probe", pid: 0, processes: [])
        #expect(
            trail.line
                == "the probe waits for a reply of worker (pid 11), which waits for a reply of redis (pid 12), "
                + "which is idle: it waits for a request")
        #expect(trail.root == 12)
        let circle = TrailDetails(hops: [hop(.fileLock, 12, "cache")], cycleStart: 0, closing: .fileLock)
        let whole = try #require(circle?.beginning(with: worker)).judged(by: "the probe", pid: 0, processes: [])
        #expect(whole.cycleStart == 1 && whole.root == nil)
        #expect(whole.line.hasSuffix("which waits for a file lock held by worker: a cycle"), "\(whole.line)")
        let longest = TrailDetails(hops: (1...5).map { hop(.mutex, $0, "p\($0)") })
        let cut = try #require(longest?.beginning(with: worker))
        #expect(cut.isCut && cut.hops.map(\.process) == [11, 1, 2, 3, 4])
    }

    @Test("a trail without a hop does not exist")
    func none() { #expect(TrailDetails(hops: []) == nil) }
}
