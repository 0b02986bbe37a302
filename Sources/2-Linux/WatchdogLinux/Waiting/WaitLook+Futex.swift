// SPDX-License-Identifier: Apache-2.0

extension WaitLook {
    func futex(_ call: BlockedCall, _ place: Place) -> Finding {
        let address = call.arguments[0]
        var finding = Finding(subject: "word at 0x\(String(address, radix: 16))")
        guard let memory = futexMemory(place.process, address) else { return finding }
        let word = FutexWord(
            operation: call.integer(1), expected: UInt32(truncatingIfNeeded: call.arguments[2]), memory: memory)
        guard let claim = word?.claim, isInOurPidNamespace(place.process) else { return finding }
        let source = "process_vm_readv(2) of pid \(place.process) around 0x\(String(address, radix: 16))"
        // A number that is not the ID of a live thread does not name an owner.
        guard let (holder, stat) = owner(claim, place) else {
            if claim.mayBeOfEndedThread(of: place.process), ProcessStat.read(claim.thread) == nil {
                finding.subject = "\(claim.object) held by thread \(claim.thread), which has ended"
                finding.sources = [source]
            }
            return finding
        }
        finding.subject = claim.isThreadEnd ? "the end of a thread" : claim.object
        finding.holder = Wait.Holder(
            relation: claim.isThreadEnd ? .ends : .holds, process: holder.process, thread: holder.thread,
            name: Self.quotable(stat.name), state: stat.state)
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

    /// The live thread, of whichever process, that a lock shared by processes names as its holder.
    func sharedOwner(_ call: BlockedCall, _ place: Place) -> Int32? {
        guard let memory = futexMemory(place.process, call.arguments[0]),
            let claim = FutexWord(
                operation: call.integer(1), expected: UInt32(truncatingIfNeeded: call.arguments[2]), memory: memory)?
                .claim,
            claim.isShared, isInOurPidNamespace(place.process), let stat = ProcessStat.read(claim.thread),
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

    /// Whether the process shares our pid namespace: thread IDs in its memory are those of its own.
    private func isInOurPidNamespace(_ process: Int32) -> Bool {
        let own = SymbolicLink.target("/proc/self/ns/pid")
        return own != nil && own == SymbolicLink.target("/proc/\(process)/ns/pid")
    }
}
