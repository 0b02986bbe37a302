// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("Parsing the wait of a thread")
struct WaitParserTests {
    @Test("a system call is its number and six arguments; anything else is rejected")
    func calls() {
        let call = BlockedCall(parsing: "0 0x7 0x1 0x2 0x3 0x4 0xffffffffffffffff 0x7ffd 0x7f00\n")
        #expect(call?.number == 0)
        #expect(call?.arguments == [7, 1, 2, 3, 4, .max])
        #expect(call?.integer(5) == -1)
        #expect(BlockedCall(parsing: "29 0x0 0x0 0x0 0x0 0x0 0x0 0x7ffcffc81b2c 0x401136")?.number == 29)
        for text in [
            "", "running", "-1 0x7ffd 0x7f00", "0 0x7", "0 7 1 2 3 4 5 6 7", "x 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0",
            "0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x10000000000000000",
            // From a 32-bit program, whose numbers mean other calls.
            "29 0x0 0x0 0x0 0x0 0x0 0x0 0xffc81b2c 0xf7f2e559",
        ] {
            #expect(BlockedCall(parsing: text) == nil, "\(text)")
        }
    }

    /// A call of a kind: numbers depend on the architecture.
    private static func call(_ kind: wd_call, _ second: String = "0x0") -> String {
        let number = (0..<1_000).first { wd_call_kind($0) == kind }
        return "\(number ?? -1) 0x7 \(second) 0x2 0x0 0x0 0x0 0x7ffcffc81b2c 0x7f00401136"
    }

    private static func wait(
        _ call: String, process: Int32 = 1, thread: Int32 = 1, heldBy holder: Int32? = nil
    ) -> Wait {
        Wait(
            process: process, thread: thread, name: "app", syscall: call, subject: "", peer: nil,
            holder: holder.map {
                Wait.Holder(relation: .holds, process: process, thread: $0, name: "app", state: .sleeping)
            }, sources: [])
    }

    private static func stays(_ waits: [Wait], cycleStart: Int? = nil) -> Bool {
        let chain = WaitChain(waits: waits, cycleStart: cycleStart)
        return BlockedThread(syscall: waits[0].syscall, chain: chain, besides: []).staysInProcess
    }

    @Test("a wait for a signal, for time or for private memory leads to no other process")
    func staysInProcess() {
        let ownMemory = Self.call(WD_CALL_FUTEX, "0x80")
        let sharedMemory = Self.call(WD_CALL_FUTEX, "0x0")
        let sleep = Self.call(WD_CALL_SLEEP)
        let read = Self.call(WD_CALL_DESCRIPTOR)
        for (call, stays) in [
            (ownMemory, true), (sharedMemory, false), (sleep, true), (Self.call(WD_CALL_SIGNAL), true),
            (read, false), (Self.call(WD_CALL_WAIT4), false), (Self.call(WD_CALL_FLOCK), false),
            (Self.call(WD_CALL_OTHER), false), ("running", false),
        ] {
            #expect(BlockedThread(syscall: call, chain: nil, besides: []).staysInProcess == stays, "\(call)")
            #expect(Self.stays([Self.wait(call)]) == stays, "\(call)")
            // It counts what the thread waits for that holds the lock.
            let held = Self.wait(ownMemory, heldBy: 2)
            #expect(Self.stays([held, Self.wait(call, thread: 2)]) == stays, "\(call)")
        }
        #expect(!Self.stays([Self.wait(ownMemory, heldBy: 2)]))
        let deadlock = [Self.wait(ownMemory, heldBy: 2), Self.wait(ownMemory, thread: 2, heldBy: 1)]
        #expect(Self.stays(deadlock, cycleStart: 0))
        #expect(!Self.stays(deadlock))
        #expect(!Self.stays([Self.wait(ownMemory, heldBy: 2), Self.wait(sleep, process: 2, thread: 2)]))
    }

    @Test("IPv4 and IPv6 sockets are parsed with their queues")
    func internetSockets() throws {
        let tcp = try #require(
            InternetSocket(
                parsing:
                    "   0: 0100007F:C8A2 0100007F:1F90 01 0000000A:00000000 00:00000000 00000000  1000        0 4711 1"
                    .utf8))
        #expect(
            tcp.description(protocol: "TCP")
                == "TCP 127.0.0.1:51362 → 127.0.0.1:8080, ESTABLISHED, nothing to read, 10 bytes not acknowledged")
        #expect(tcp.inode == 4_711)
        let v6 = try #require(
            InternetSocket(
                parsing: ("  12: 00000000000000000000000001000000:1F90 00000000000000000000000000000000:0000 0A "
                    + "00000000:00000003 00:00000000 00000000     0        0 9 1").utf8))
        #expect(v6.description(protocol: "TCP") == "TCP [::1]:8080, LISTEN, 3 connections to accept")
        let mapped = try #require(
            InternetSocket(
                parsing: ("  12: 0000000000000000FFFF00000100007F:1F90 0000000000000000FFFF00000100007F:0001 02 "
                    + "00000000:00000000 00:00000000 00000000     0        0 9 1").utf8))
        #expect(mapped.description(protocol: "TCP").hasPrefix("TCP 127.0.0.1:8080 → 127.0.0.1:1, SYN_SENT"))
    }

    @Test(
        "a malformed line of a socket table is rejected",
        arguments: [
            "", "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode",
            "0: 0100007F 0100007F:1F90 01 0:0 00:0 0 1 0 4711 1", "0: 0100007:C8A2 0100007F:1F90 01 0:0 0 0 1 0 4711 1",
            "0: 0100007F:C8A2 0100007F:1F90 01 0 00:0 0 1 0 4711 1", "0: 0100007F:C8A2 0100007F:1F90 1FF 0:0 0 0 1 0 9",
        ]
    )
    func noSocket(line: String) {
        #expect(InternetSocket(parsing: line.utf8) == nil)
    }

    @Test("a waiter's lock is the one with its number, and only of its own file and kind")
    func fileLocks() throws {
        let locks = [
            "1: FLOCK  ADVISORY  WRITE 812 fe:00:77 0 EOF", "1: -> FLOCK  ADVISORY  WRITE 900 fe:00:77 0 EOF",
            "2: POSIX  ADVISORY  WRITE 813 fe:00:77 0 9", "2: -> POSIX  ADVISORY  READ 900 fe:00:77 5 5",
            "3: OFDLCK ADVISORY  WRITE -1 fe:00:78 0 EOF",
            "3: -> OFDLCK ADVISORY  WRITE -1 fe:00:78 0 EOF", "3:  -> POSIX  ADVISORY  WRITE 902 fe:00:78 0 EOF",
            // The process has two waits.
            "4: FLOCK  ADVISORY  WRITE 814 fe:00:79 0 EOF", "4: -> FLOCK  ADVISORY  READ 903 fe:00:79 0 EOF",
            "5: FLOCK  ADVISORY  WRITE 815 fe:00:80 0 EOF", "5: -> FLOCK  ADVISORY  READ 903 fe:00:80 0 EOF",
            // The lock itself belongs to another pid namespace, which is not shown.
            "6: -> FLOCK  ADVISORY  WRITE 904 fe:00:81 0 EOF",
        ]
        func holder(of process: Int32, _ kinds: Set<String>, _ inode: UInt64?) -> FileLock? {
            var wait = LockWait(of: process, kinds: kinds, inode: inode)
            for line in locks { wait.read(Array(line.utf8)[...]) }
            return wait.holder
        }
        let flock = holder(of: 900, ["FLOCK"], 77)
        #expect(flock?.process == 812 && flock?.isOnWholeFile == true && flock?.isExclusive == true)
        #expect(holder(of: 900, ["POSIX"], nil)?.process == 813)
        #expect(holder(of: 901, ["FLOCK"], 77) == nil)
        #expect(holder(of: 900, ["FLOCK"], 78) == nil)
        let description = try #require(holder(of: 901, ["OFDLCK"], 78))
        #expect(description.kind == "OFDLCK" && description.process == nil)
        #expect(holder(of: 902, ["POSIX"], 78) == description, "it waits for one that waits")
        #expect(holder(of: 903, ["FLOCK"], 79)?.process == 814)
        #expect(holder(of: 903, ["FLOCK"], nil) == nil)
        #expect(holder(of: 904, ["FLOCK"], 81) == nil)
        for line in ["", "1:", "1: FLOCK ADVISORY WRITE 812 77 0 EOF", "x: FLOCK A W 1 fe:00:1 0 EOF", "1: -> -> ->"] {
            #expect(FileLock(parsing: line.utf8) == nil, "\(line)")
        }
    }

    @Test("descriptor information contains mode, inode, watched descriptors and locks")
    func descriptors() {
        let text =
            "pos:\t0\nflags:\t02100002\nmnt_id:\t9\nino:\t77\ntfd:        5 events:       19 data: 5  pos:0 ino:1 sdev:b\n"
            + "tfd:        6 events:       19\nlock:\t1: FLOCK  ADVISORY  WRITE 812 fe:00:77 0 EOF\nPid:\t-1\nnonsense\n:\n"
        let information = DescriptorInfo(parsing: text.utf8)
        #expect(information.accessMode == 2)
        #expect(information.inode == 77)
        #expect(
            information.watched == [
                .init(number: 5, inode: 1, events: 0x19), .init(number: 6, inode: nil, events: 0x19),
            ])
        #expect(information.watchedCount == 2)
        #expect(information.locks.map(\.process) == [812])
        #expect(information.process == nil && information.signals == nil)
        let signals = DescriptorInfo(parsing: "pos:\t0\nino:\t4\nsigmask:\t0000000000010000\n".utf8)
        #expect(signals.signals == SignalStatus.child)
    }

    @Test("of many watched descriptors, the first 64 are candidates for a description")
    func watched() {
        let text = (1...65).map { "tfd:        \($0) events:        4 data: 0 pos:0 ino:\($0) sdev:8\n" }.joined()
        let information = DescriptorInfo(parsing: text.utf8)
        #expect(information.watched.map(\.number) == Array(1...64))
        #expect(information.watchedCount == 65)
        #expect(information.watched.allSatisfy { WaitLook.Purpose(ofEvents: $0.events) == .sending })
    }

    @Test("an io_uring reports its size, its number of requests, and the pending operations")
    func ring() throws {
        let text =
            "pos:\t0\nino:\t7\nSqMask:\t0x7\nSqHead:\t1\nCachedSqHead:\t3\nPollList:\n  op=27, task_works=0\n"
            + "  op=6, task_works=0\n  op=x\nCqOverflowList:\n"
        let ring = try #require(DescriptorInfo(parsing: text.utf8).ring)
        #expect(ring == .init(size: 8, taken: 3, operations: [27, 6]))
        #expect(DescriptorInfo(parsing: "  op=27, task_works=0\n".utf8).ring == nil)
    }

    @Test(
        "a thread that waits for room to write waits to send, and one that waits for anything to read waits to receive")
    func purposes() {
        for (events, purpose) in [
            (UInt32(0x4), WaitLook.Purpose.sending), (0x1, .receiving), (0x5, .receiving), (0x2001, .receiving),
            (0, .receiving),
            (0x8000_0004, .sending),
        ] {
            #expect(WaitLook.Purpose(ofEvents: events) == purpose, "\(events)")
        }
    }

    @Test("the signals of a thread are read from its status")
    func signals() throws {
        let text = "Name:\tSigBlk: 1\nSigQ:\t0/31\nSigPnd:\t0\nSigBlk:\t0000000000010000\nSigCgt:\t0000000000010002\n"
        let status = try #require(SignalStatus(parsing: text.utf8))
        #expect(status.blocked == SignalStatus.child)
        #expect(status.catchesChild)
        #expect(SignalStatus(parsing: "SigBlk:\t0\n".utf8) == nil)
        #expect(SignalStatus(parsing: "SigBlk:\tx\nSigCgt:\t0\n".utf8) == nil)
    }

    @Test("a mount point is reported by its type, and whether another party serves it")
    func mountPoints() throws {
        let lines = [
            "21 28 0:19 / / rw,relatime shared:7 - ext4 /dev/sda1 rw",
            "36 28 0:30 /export /mnt/my\\040photos rw shared:1 master:2 - nfs4 files:/export rw,vers=4.2",
            "37 28 0:31 / /mnt/s rw,nosuid - fuse.sshfs bob@host: rw,user_id=0",
        ]
        func mount(_ index: Int, _ path: String) -> MountPoint? {
            MountPoint(parsing: lines[index].utf8, leadingTo: path)
        }
        #expect(mount(0, "/mnt/s/x")?.directory == "/")
        #expect(mount(0, "/x")?.isServed == false)
        let photos = try #require(mount(1, "/mnt/my photos/a"))
        #expect(photos.directory == "/mnt/my photos" && photos.type == "nfs4" && photos.isServed)
        #expect(mount(1, "/mnt/my") == nil)
        #expect(photos.text == "nfs4 files:/export at /mnt/my photos")
        #expect(mount(2, "/mnt/s")?.text == "fuse.sshfs host: at /mnt/s", "without the user")
        #expect(mount(0, "/x")?.server == nil, "a device is no server")
        #expect(mount(2, "/mnt/s")?.type == "fuse.sshfs" && mount(2, "/mnt/s/x")?.isServed == true)
        #expect(mount(2, "/mnt/share") == nil && mount(2, "/mnt") == nil)
        for line in ["", "36 28 0:30 / / rw", "36 28 0:30 / / rw -", "36 28 0:30 / / rw shared:1 nfs files:/ rw"] {
            #expect(MountPoint(parsing: line.utf8, leadingTo: "/x") == nil, "\(line)")
        }
    }

    @Test("a local path is not served by another party, and an unknown one may be")
    func mountTable() {
        #expect(!MountTable.isServed("/proc/self/status"))
        #expect(MountTable.isServed("/proc/../etc/passwd") && MountTable.isServed("proc/self/status"))
    }

    // MARK: - Memory

    /// Memory around a futex word, with offsets from the word.
    private func claim(
        _ words: [Int: UInt32], operation: Int32 = 128, expected: UInt32 = 2
    ) -> FutexWord.Claim? {
        word(words, operation: operation, expected: expected)?.claim
    }

    private func word(_ words: [Int: UInt32], operation: Int32, expected: UInt32) -> FutexWord? {
        var memory = [UInt8](repeating: 0, count: FutexWord.length)
        for (offset, word) in words {
            for byte in 0..<4 {
                memory[FutexWord.before + offset + byte] = UInt8(truncatingIfNeeded: word >> (8 * byte))
            }
        }
        return FutexWord(operation: operation, expected: expected, memory: memory)
    }

    @Test("only a stream's lock that is held and contended has the address of its owner")
    func streams() {
        func owner(_ words: [Int: UInt32], operation: Int32 = 128) -> UInt64? {
            word(words, operation: operation, expected: words[0] ?? 0)?.streamOwner
        }
        #expect(owner([0: 2, 4: 1, 8: 0x1234_5740, 12: 0x7f2a]) == 0x7f2a_1234_5740)
        #expect(owner([0: 1, 4: 1, 8: 0x1234_5740, 12: 0x7f2a]) == nil, "locked without waiters")
        #expect(owner([0: 2, 4: 0, 8: 0x1234_5740, 12: 0x7f2a]) == nil, "taken zero times")
        #expect(owner([0: 2, 4: 1, 8: 0x1234_5741, 12: 0x7f2a]) == nil, "no control block begins there")
        #expect(owner([0: 2, 4: 1, 8: 117, 12: 1, 16: 1]) == nil, "a recursive mutex")
        #expect(owner([0: 2, 4: 1, 8: 0x1234_5740, 12: 0x7f2a], operation: 129) == nil, "no wait")
    }

    @Test("only a mutex that is held and contended names its owner")
    func mutexes() {
        #expect(claim([0: 2, 8: 117, 12: 1])?.thread == 117)
        #expect(claim([0: 2, 4: 3, 8: 117, 12: 1, 16: 1])?.object == "recursive mutex")
        #expect(claim([0: 2, 8: 117, 12: 1, 16: 2])?.object == "error-checking mutex")
        let lookalikes: [(String, [Int: UInt32])] = [
            ("locked without waiters", [0: 1, 8: 117, 12: 1]), ("free", [0: 0, 8: 117, 12: 1]),
            ("owner not written yet", [0: 2, 12: 1]), ("no users", [0: 2, 8: 117]),
            ("kind of no mutex", [0: 2, 8: 117, 12: 1, 16: 0x1004]),
            ("recursive, taken zero times", [0: 2, 8: 117, 12: 1, 16: 1]),
            ("a pointer where the owner is", [0: 2, 8: 0x9c0f_2ad0, 12: 0x7f2a_0000]),
            ("robust, other owner in the word", [0: 0x8000_0076, 4: 1, 8: 117, 12: 1, 16: 16]),
        ]
        for (name, words) in lookalikes {
            #expect(claim(words, expected: words[0] ?? 0) == nil, "\(name)")
        }
        #expect(claim([0: 2, 8: 117, 12: 1], expected: 1) == nil, "the waiter is about to wake")
        #expect(claim([0: 2, 8: 117, 12: 1], operation: 129) == nil, "no wait")
    }

    @Test("robust, priority-inheritance and read-write locks, and joined threads are recognized")
    func otherLocks() {
        #expect(claim([0: 0x8000_0075, 4: 1, 8: 117, 12: 1, 16: 16], expected: 0x8000_0075)?.object == "robust mutex")
        #expect(claim([0: 0x8000_0075], operation: 6 | 128)?.thread == 117)
        #expect(claim([0: 0xc000_0075], operation: 6 | 128) == nil, "the owner has died")
        #expect(claim([-8: 3, 0: 3, 16: 117], expected: 3)?.object == "read-write lock")
        #expect(claim([-8: 8, 0: 3, 16: 117], expected: 3) == nil, "readers have it")
        #expect(claim([0: 117], operation: 9 | 256, expected: 117)?.isThreadEnd == true)
        #expect(claim([0: 117], operation: 9 | 128, expected: 117) == nil, "private: not the kernel's word")
    }

    @Test("arbitrary bytes never trap a parser")
    func noise() {
        var generator = SeededGenerator(seed: testSeed)
        let alphabet = Array("0123456789 :->ABCDEFx\tflockinotdPid\n\0".utf8)
        for _ in 0..<5_000 {
            let bytes = (0..<Int.random(in: 0..<120, using: &generator)).map { _ in
                alphabet.randomElement(using: &generator) ?? 0
            }
            _ = InternetSocket(parsing: bytes)
            _ = FileLock(parsing: bytes)
            _ = DescriptorInfo(parsing: bytes)
            _ = BlockedCall(parsing: String(decoding: bytes, as: UTF8.self))
            let memory = (0..<FutexWord.length).map { _ in UInt8.random(in: 0...255, using: &generator) }
            _ = FutexWord(operation: Int32.random(in: 0...15, using: &generator), expected: 2, memory: memory)?.claim
        }
    }
}
