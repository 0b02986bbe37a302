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
        // A number that is no live thread of this process is no owner.
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

    /// Zeros stand for what could not be read: they claim nothing.
    private func futexMemory(_ process: Int32, _ address: UInt64) -> [UInt8]? {
        let before = FutexWord.before
        if let all = memory(process, at: address &- UInt64(before), count: FutexWord.length) { return all }
        let zeros = [UInt8](repeating: 0, count: before)
        if let rest = memory(process, at: address, count: FutexWord.length - before) { return zeros + rest }
        return memory(process, at: address, count: 4).map {
            zeros + $0 + [UInt8](repeating: 0, count: FutexWord.length - before - 4)
        }
    }

    /// A thread id in memory is one of the process's own pid namespace.
    private func isInOurPidNamespace(_ process: Int32) -> Bool {
        let own = ProcessFacts.link("/proc/self/ns/pid")
        return own != nil && own == ProcessFacts.link("/proc/\(process)/ns/pid")
    }
}
