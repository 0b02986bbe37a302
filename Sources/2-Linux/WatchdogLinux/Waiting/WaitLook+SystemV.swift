// SPDX-License-Identifier: Apache-2.0

import CLinux
import WatchdogBase

extension WaitLook {
    /// The most operations of one semop(2): SEMOPM of linux/sem.h.
    private static let mostOperations: UInt64 = 500

    /// A wait for a semaphore, and who has last changed it.
    ///
    /// A semaphore has no owner. But if it is used as a lock, whoever holds it has changed it last: those who wait have not
    /// changed it yet.
    func semaphore(_ call: BlockedCall, _ place: Place) -> Finding {
        let set = call.integer(0)
        var finding = Finding(subject: "System V semaphore set \(set)")
        guard let number = awaitedSemaphore(call, place) else { return finding }
        finding.subject = "semaphore \(number) of System V semaphore set \(set)"
        finding.sources = ["process_vm_readv(2), the operations of semop"]
        guard isInOurNamespace("ipc", place.process) else { return finding }
        note(user: wd_semaphore_changer(set, Int32(number)), "changed", place, &finding)
        finding.sources.append("semctl(2) GETPID")
        return finding
    }

    /// The number of the semaphore that a call waits for; nil if it may be one of several.
    ///
    /// Only a decrement and a wait for zero block: semop(2).
    private func awaitedSemaphore(_ call: BlockedCall, _ place: Place) -> UInt16? {
        let count = call.arguments[2]
        guard count > 0, count <= Self.mostOperations,
            let bytes = memory(place.process, at: call.arguments[1], count: Int(count) * 6)
        else { return nil }
        func field(_ index: Int, _ offset: Int) -> UInt16 {
            UInt16(bytes[index * 6 + offset]) | UInt16(bytes[index * 6 + offset + 1]) << 8
        }
        let awaited = Set((0..<Int(count)).filter { Int16(bitPattern: field($0, 2)) <= 0 }.map { field($0, 0) })
        return awaited.count == 1 ? awaited.first : nil
    }

    /// A wait for a message or for room, and who has last written or read one.
    func messageQueue(_ call: BlockedCall, _ place: Place) -> Finding {
        let id = call.integer(0)
        var finding = Finding(subject: "System V message queue \(id)")
        let path = "/proc/sysvipc/msg"
        guard isInOurNamespace("ipc", place.process),
            let file = try? OwnedDescriptor(opening: path, flags: 0)
        else { return finding }
        // key, msqid, perms, cbytes, qnum, lspid, lrpid: proc_sysvipc(5).
        var fields: [Int32] = []
        budget.useReserve { left in
            _ = Procfs.forEachLine(file, limit: 512 << 10) { line in
                let columns = line.split(separator: UInt8(ascii: " "), maxSplits: 7)
                if columns.count > 7, Int32(decimal: columns[1]) == id {
                    fields = columns[3...6].map { Int32(decimal: $0) ?? 0 }
                }
                return fields.isEmpty && !left.isSpent
            }
        }
        guard fields.count == 4 else { return finding }
        let isReceiving = wd_call_receives_message(call.number)
        note(user: fields[isReceiving ? 2 : 3], isReceiving ? "written" : "read", place, &finding)
        finding.sources.append(path)
        return finding
    }

    /// Notes the process that has used the object last, which may be the one that waits.
    private func note(user process: Int32, _ use: String, _ place: Place, _ finding: inout Finding) {
        guard process > 0 else { return }
        guard process != place.process else {
            finding.subject += ", last \(use) by this process itself"
            return
        }
        guard let stat = ProcessStat.read(process), stat.state != .zombie, stat.state != .dead else {
            finding.subject += ", last \(use) by pid \(process), which has ended"
            return
        }
        finding.holder = Wait.Holder(
            relation: .lastUsed, process: process, thread: nil, name: Self.quotable(stat.name),
            state: Self.state(stat))
        finding.sources.append("/proc/\(process)/stat")
        if stat.threadCount == 1 { finding.next = Place(process: process, thread: process) }
    }

    /// Whether a process shares a namespace with us: IDs mean the same.
    func isInOurNamespace(_ name: String, _ process: Int32) -> Bool {
        let own = SymbolicLink.target("/proc/self/ns/\(name)")
        return own != nil && own == SymbolicLink.target("/proc/\(process)/ns/\(name)")
    }
}
