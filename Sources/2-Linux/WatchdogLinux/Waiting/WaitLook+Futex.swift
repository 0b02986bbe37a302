// SPDX-License-Identifier: Apache-2.0

import CLinux
import WatchdogBase

extension WaitLook {
    /// A wait for a word, whichever call it was made with.
    private struct FutexWait {
        let address: UInt64
        /// The second argument of futex(2).
        let operation: Int32
        let expected: UInt32

        init(_ call: BlockedCall) {
            address = call.arguments[0]
            // futex_wait(2) has the value, the mask and the flags instead; the flag for a private word is the same.
            let isPlain = call.kind == WD_CALL_FUTEX_WAIT
            operation = isPlain ? call.integer(3) & Self.privateFlag : call.integer(1)
            expected = UInt32(truncatingIfNeeded: call.arguments[isPlain ? 1 : 2])
        }

        /// An element of the array of futex_waitv(2): `struct futex_waitv` of linux/futex.h.
        init(_ bytes: ArraySlice<UInt8>) {
            func word(_ offset: Int, _ count: Int) -> UInt64 {
                bytes.dropFirst(offset).prefix(count).reversed().reduce(0) { $0 << 8 | UInt64($1) }
            }
            expected = UInt32(truncatingIfNeeded: word(0, 8))
            address = word(8, 8)
            operation = Int32(truncatingIfNeeded: word(16, 4)) & Self.privateFlag
        }

        private static let privateFlag: Int32 = 128
    }

    /// How many words of one wait are named.
    private static let namedWords = 4

    func futex(_ call: BlockedCall, _ place: Place) -> Finding { futex(FutexWait(call), place) }

    /// A wait for any of several words, as in futex_waitv(2).
    func futexes(_ call: BlockedCall, _ place: Place) -> Finding {
        // FUTEX_WAITV_MAX of linux/futex.h.
        let count = Int(call.integer(1))
        guard count > 0, count <= 128 else { return Finding() }
        let size = 24
        let shown = min(count, Self.namedWords)
        guard let bytes = memory(place.process, at: call.arguments[0], count: shown * size) else {
            return Finding(subject: count == 1 ? "one word" : "any of \(count) words")
        }
        let waits = (0..<shown).map { FutexWait(bytes[$0 * size..<($0 + 1) * size]) }
        guard count > 1 else { return futex(waits[0], place) }
        let addresses = waits.map { "0x\(String($0.address, radix: 16))" }.joined(separator: ", ")
        return Finding(
            subject: "any of \(count) words: \(addresses)\(count > shown ? ", …" : "")",
            sources: ["process_vm_readv(2), the argument of futex_waitv"])
    }

    private func futex(_ wait: FutexWait, _ place: Place) -> Finding {
        let address = wait.address
        var finding = Finding(subject: "word at 0x\(String(address, radix: 16))")
        guard let memory = futexMemory(place.process, address) else { return finding }
        let word = FutexWord(operation: wait.operation, expected: wait.expected, memory: memory)
        guard isInOurNamespace("pid", place.process),
            let claim = streamClaim(word, place.process) ?? word?.claim
        else { return finding }
        let source = "process_vm_readv(2) of pid \(place.process) around 0x\(String(address, radix: 16))"
        // A number that is not the ID of a live thread does not name an owner.
        guard let (holder, stat) = owner(claim, place) else {
            if let former = formerOwner(claim, place.process) {
                finding.subject = "\(claim.object) held by \(former)"
                finding.sources = [source]
            }
            return finding
        }
        finding.subject = claim.isThreadEnd ? "the end of a thread" : claim.object
        finding.holder = Wait.Holder(
            relation: claim.isThreadEnd ? .ends : .holds, process: holder.process, thread: holder.thread,
            name: Self.quotable(stat.name), state: holder.process == place.process ? stat.state : Self.state(stat))
        finding.next = holder
        finding.sources = [source, "\(holder.task)/stat"]
        return finding
    }

    /// The live thread that memory names: one of this process or, for a lock that processes share, of another one of the
    /// app's.
    private func owner(_ claim: FutexWord.Claim, _ place: Place) -> (Place, ProcessStat)? {
        func live(_ process: Int32) -> (Place, ProcessStat)? {
            guard let stat = ProcessStat.read(process, thread: claim.thread), stat.state != .zombie,
                stat.state != .dead
            else { return nil }
            return (Place(process: process, thread: claim.thread), stat)
        }
        if let own = live(place.process) { return own }
        guard claim.isShared else { return nil }
        return family().prefix(64).lazy.compactMap { budget.isSpent ? nil : live($0) }.first
    }

    /// The lock of a stream of standard I/O, whose memory names the control block of its owner.
    ///
    /// The block begins with its own address, twice, and has the thread's ID behind the fields that are ABI: `struct
    /// pthread` of glibc on x86-64. Whatever is not so names no live thread of the process, which is checked next.
    private func streamClaim(_ word: FutexWord?, _ process: Int32) -> FutexWord.Claim? {
        guard let address = word?.streamOwner, let head = memory(process, at: address, count: 24),
            [0, 16].allSatisfy({ Self.number(head[$0..<$0 + 8]) == address }),
            let bytes = memory(process, at: address + 0x2d0, count: 4),
            let thread = Int32(exactly: Self.number(bytes[...])), thread > 0
        else { return nil }
        return FutexWord.Claim(object: "lock of a standard I/O stream", thread: thread)
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The thread that took a mutex and can no longer release it, in words: one that has ended, or one of the parent, whose
    /// locks fork(2) has copied without it.
    private func formerOwner(_ claim: FutexWord.Claim, _ process: Int32) -> String? {
        guard let status = ProcessStatus.read(claim.thread) else {
            return claim.mayBeOfEndedThread(of: process) ? "thread \(claim.thread), which has ended" : nil
        }
        guard claim.isSurelyMutex, !claim.isShared, status.process != process,
            ProcessStat.read(process)?.parent == status.process
        else { return nil }
        let name = Self.name(Place(process: status.process, thread: claim.thread))
        return "thread \(claim.thread) \"\(name)\" of the parent since before the fork"
    }

    /// The live thread, of whichever process, that a lock shared by processes names as its holder.
    func sharedOwner(_ call: BlockedCall, _ place: Place) -> Int32? {
        guard let memory = futexMemory(place.process, call.arguments[0]),
            let claim = FutexWord(
                operation: call.integer(1), expected: UInt32(truncatingIfNeeded: call.arguments[2]), memory: memory)?
                .claim,
            claim.isShared, isInOurNamespace("pid", place.process), let stat = ProcessStat.read(claim.thread),
            stat.state != .zombie, stat.state != .dead
        else { return nil }
        return claim.thread
    }

    /// Memory around a futex word; bytes that cannot be read are zero, which never names a holder.
    private func futexMemory(_ process: Int32, _ address: UInt64) -> [UInt8]? {
        let before = FutexWord.before
        if let all = memory(process, at: address &- UInt64(before), count: FutexWord.length) { return all }
        let zeros = [UInt8](repeating: 0, count: before)
        if let rest = memory(process, at: address, count: FutexWord.length - before) { return zeros + rest }
        return memory(process, at: address, count: 4).map {
            zeros + $0 + [UInt8](repeating: 0, count: FutexWord.length - before - 4)
        }
    }
}
