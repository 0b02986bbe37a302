// SPDX-License-Identifier: Apache-2.0

extension WaitLook {
    func futex(_ call: BlockedCall, _ place: Place) -> Finding {
        let address = call.arguments[0]
        var finding = Finding(subject: "word at 0x\(String(address, radix: 16))")
        guard let memory = futexMemory(place.process, address) else { return finding }
        let word = FutexWord(
            operation: call.integer(1), expected: UInt32(truncatingIfNeeded: call.arguments[2]), memory: memory)
        guard let claim = word?.claim, isInOurPidNamespace(place.process) else { return finding }
        let holder = Place(process: place.process, thread: claim.thread)
        // A number that is not the ID of a live thread in this process does not name an owner.
        guard let stat = ProcessStat.read(holder.process, thread: holder.thread),
            stat.state != .zombie, stat.state != .dead
        else { return finding }
        finding.subject = claim.isThreadEnd ? "the end of a thread" : claim.object
        finding.holder = Wait.Holder(
            relation: claim.isThreadEnd ? .ends : .holds, process: holder.process, thread: holder.thread,
            name: Self.quotable(stat.name), state: stat.state)
        finding.next = holder
        finding.sources = [
            "process_vm_readv(2) of pid \(place.process) around 0x\(String(address, radix: 16))", "\(holder.task)/stat",
        ]
        return finding
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
