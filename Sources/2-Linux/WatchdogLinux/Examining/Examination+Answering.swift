// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WatchdogBase

/// The examiner's side: reads a request, performs the examination, and writes the answer.
enum ExaminationAnswer {
    /// The longest environment variable that is returned.
    private static let longestValue = 4_096
    /// What this examiner has read last.
    private static let openFiles = Mutex<OpenFiles.Table?>(nil)

    /// The answer to a request; empty when the process is gone, may not be read, or the request is malformed.
    static func make(to request: ExaminerFields) -> ExaminerFields {
        var request = request
        var answer = ExaminerFields()
        guard let kind = request.text().flatMap({ ExaminationKind(rawValue: $0) }), let id: Int32 = request.number(),
            let startTime: UInt64 = request.number(), let cgroup = request.optionalText()
        else { return answer }
        let process = ExaminedProcess(id: id, startTime: startTime, cgroup: cgroup)
        guard process.exists else { return answer }
        let isDone =
            switch kind {
            case .waits: addWaits(of: process, thread: request.number(), isWithinApp: false, to: &answer)
            case .waitsWithinApp: addWaits(of: process, thread: request.number(), isWithinApp: true, to: &answer)
            case .waitsAhead: addWaitsAhead(of: process, thread: request.number(), to: &answer)
            case .trail: addTrail(of: process, thread: request.number(), to: &answer)
            case .server: addServer(of: process, &request, to: &answer)
            case .askedServer: addAskedServer(of: process, &request, to: &answer)
            case .variable: addVariable(request.text(), of: process, to: &answer)
            case .journalStream: addJournalStream(of: process, to: &answer)
            case .locks: addLocks(in: request.text(), to: &answer)
            }
        // The ID may have been reused for another process in the meantime.
        return isDone && process.exists && answer.bytes.count <= ExaminerFields.longest ? answer : ExaminerFields()
    }

    private static func addWaits(
        of process: ExaminedProcess, thread: Int32?, isWithinApp: Bool, to answer: inout ExaminerFields
    ) -> Bool {
        guard let thread, let syscall = WaitLook.syscall(.init(process: process.id, thread: thread)) else {
            return false
        }
        let look = WaitLook(isWithinApp: isWithinApp) { process.family }
        let chain = look.chain(process: process.id, thread: thread, syscall: syscall)
        answer.append(syscall)
        answer.append(chain == nil ? 0 : 1)
        chain?.write(to: &answer)
        let besides = look.besides(thread, of: process.id)
        answer.append(besides.count)
        for wait in besides { wait.write(to: &answer) }
        return true
    }

    private static func addWaitsAhead(
        of process: ExaminedProcess, thread: Int32?, to answer: inout ExaminerFields
    ) -> Bool {
        guard let thread, addWaits(of: process, thread: thread, isWithinApp: true, to: &answer) else { return false }
        guard WaitLook.mayLeave(process.id, thread) else { return true }
        let look = WaitLook(budget: WaitLook.trailBudget) { [] }
        let files = OpenFiles(openFiles.withLock(\.self))
        files.prepare(look.budget)
        openFiles.withLock { $0 = files.table }
        return true
    }

    private static func addTrail(
        of process: ExaminedProcess, thread: Int32?, to answer: inout ExaminerFields
    ) -> Bool {
        guard let thread else { return false }
        let look = WaitLook(budget: WaitLook.trailBudget) { process.family }
        let files = OpenFiles(openFiles.withLock(\.self))
        look.trail(process: process.id, thread: thread, files).write(to: &answer)
        openFiles.withLock { $0 = files.table }
        return true
    }

    private static func addServer(
        of process: ExaminedProcess, _ request: inout ExaminerFields, to answer: inout ExaminerFields
    ) -> Bool {
        guard let accepted: UInt32 = request.number(), let preferred: UInt32 = request.number(),
            let address = request.text().flatMap({ try? NetworkAddress(parsing: $0) })
        else { return false }
        let connection = UnansweredConnection(accepted: accepted == 0 ? nil : accepted, address: address)
        let look = WaitLook(budget: WaitLook.trailBudget) { process.members }
        let found = look.server(of: connection, main: process.id, preferring: Int32(bitPattern: preferred))
        answer.append(found == nil ? 0 : 1)
        found?.write(to: &answer)
        return true
    }

    private static func addAskedServer(
        of process: ExaminedProcess, _ request: inout ExaminerFields, to answer: inout ExaminerFields
    ) -> Bool {
        guard let command: Int32 = request.number(), let startTime: UInt64 = request.number(),
            let preferred: UInt32 = request.number()
        else { return false }
        let asker = ExaminedProcess(id: command, startTime: startTime, cgroup: nil)
        guard asker.exists else { return false }
        let look = WaitLook(budget: WaitLook.trailBudget) { process.members }
        let found = look.server(askedBy: command, preferring: Int32(bitPattern: preferred))
        guard asker.exists else { return false }
        answer.append(found == nil ? 0 : 1)
        found?.write(to: &answer)
        return true
    }

    private static func addVariable(
        _ name: String?, of process: ExaminedProcess, to answer: inout ExaminerFields
    ) -> Bool {
        guard let name, let environment = ProcessFacts.environment(process.id) else { return false }
        let value = environment[name]
        answer.append(value.flatMap { $0.utf8.count <= longestValue ? $0 : nil })
        return true
    }

    private static func addJournalStream(of process: ExaminedProcess, to answer: inout ExaminerFields) -> Bool {
        guard let environment = ProcessFacts.environment(process.id) else { return false }
        let stream = environment["JOURNAL_STREAM"]
        let isJournal = [2, 1].contains {
            stream != nil && JournalStream.identity(of: $0, in: process.id) == stream
        }
        answer.append(isJournal ? 1 : 0)
        return true
    }

    private static func addLocks(in processes: String?, to answer: inout ExaminerFields) -> Bool {
        guard let processes else { return false }
        let found = HeldLocks.find(in: processes.split(separator: " ").compactMap { Int32($0) })
        // Limit the paths, so that all of them fit into a message with everything else.
        let locks = found.filter { $0.path.utf8.count < ExaminerFields.longest / (2 * HeldLocks.limit) }
        answer.append(locks.count)
        for lock in locks { lock.write(to: &answer) }
        return true
    }
}

extension WaitChain {
    private static let longest = 64

    init?(reading fields: inout ExaminerFields) {
        guard let start: Int = fields.number(), let waits = fields.list(limit: Self.longest, { Wait(reading: &$0) })
        else { return nil }
        guard !waits.isEmpty, start < waits.count else { return nil }
        self.init(waits: waits, cycleStart: start < 0 ? nil : start)
    }

    func write(to fields: inout ExaminerFields) {
        fields.append(cycleStart ?? -1)
        fields.append(waits.count)
        for wait in waits { wait.write(to: &fields) }
    }
}

extension Wait {
    init?(reading fields: inout ExaminerFields) {
        guard let process: Int32 = fields.number(), let thread: Int32 = fields.number(), let name = fields.text(),
            let syscall = fields.text(), let subject = fields.text(), let peer = fields.text(),
            let holders = fields.list(limit: 1, { Holder(reading: &$0) }),
            let sources = fields.list(limit: 64, { $0.text() })
        else { return nil }
        self.init(
            process: process, thread: thread, name: name, syscall: syscall, subject: subject,
            peer: peer.isEmpty ? nil : peer, holder: holders.first, sources: sources)
    }

    func write(to fields: inout ExaminerFields) {
        fields.append(process)
        fields.append(thread)
        for text in [name, syscall, subject, peer ?? ""] { fields.append(text) }
        fields.append(holder == nil ? 0 : 1)
        holder?.write(to: &fields)
        fields.append(sources.count)
        for source in sources { fields.append(source) }
    }
}

extension Wait.Holder {
    fileprivate init?(reading fields: inout ExaminerFields) {
        guard let relation = fields.text().flatMap({ WaitRelation(rawValue: $0) }),
            let process: Int32 = fields.number(), let thread: Int32 = fields.number(), let name = fields.text(),
            let state: Int = fields.number()
        else { return nil }
        self.init(
            relation: relation, process: process, thread: thread < 0 ? nil : thread, name: name,
            state: UInt8(exactly: state).flatMap { ProcessStat.State(rawValue: $0) })
    }

    fileprivate func write(to fields: inout ExaminerFields) {
        fields.append(relation.rawValue)
        fields.append(process)
        fields.append(thread ?? -1)
        fields.append(name)
        fields.append(Int(state?.rawValue ?? 0))
    }
}

extension WaitTrail {
    init?(reading fields: inout ExaminerFields) {
        guard let start: Int = fields.number(), let closing = fields.text(), let isCut: Int = fields.number(),
            let hops = fields.list(limit: Self.longest, { Hop(reading: &$0) }), start <= hops.count
        else { return nil }
        self.init(
            hops: hops, cycleStart: start < 0 ? nil : start, closing: TrailLink(rawValue: closing), isCut: isCut == 1)
    }

    func write(to fields: inout ExaminerFields) {
        fields.append(cycleStart ?? -1)
        fields.append(closing?.rawValue ?? "")
        fields.append(isCut ? 1 : 0)
        fields.append(hops.count)
        for hop in hops { hop.write(to: &fields) }
    }
}

extension WaitTrail.Hop {
    fileprivate init?(reading fields: inout ExaminerFields) {
        guard let link = fields.text().flatMap({ TrailLink(rawValue: $0) }), let process: Int32 = fields.number(),
            let parent: Int32 = fields.number(), let name = fields.text(), let startTime: UInt64 = fields.number(),
            let sight = fields.text().flatMap({ TrailSight(rawValue: $0) }), let thread: Int32 = fields.number(),
            let letter: UInt8 = fields.number(), let state = ProcessStat.State(rawValue: letter),
            let waits = fields.list(limit: 1, { Wait(reading: &$0) }), let isIdle: Int = fields.number()
        else { return nil }
        self.init(
            link: link, process: process, parent: parent, name: name, startTime: startTime, sight: sight,
            thread: thread, state: state, wait: waits.first, isIdle: isIdle == 1)
    }

    fileprivate func write(to fields: inout ExaminerFields) {
        fields.append(link.rawValue)
        fields.append(process)
        fields.append(parent)
        fields.append(name)
        fields.append(startTime)
        fields.append(sight.rawValue)
        fields.append(thread)
        fields.append(state.rawValue)
        fields.append(wait == nil ? 0 : 1)
        wait?.write(to: &fields)
        fields.append(isIdle ? 1 : 0)
    }
}

extension ServingProcess {
    init?(reading fields: inout ExaminerFields) {
        guard let id: Int32 = fields.number(), let startTime: UInt64 = fields.number(),
            let thread: Int32 = fields.number(), let hasAccepted: Int = fields.number()
        else { return nil }
        self.init(id: id, startTime: startTime, thread: thread, hasAccepted: hasAccepted == 1)
    }

    func write(to fields: inout ExaminerFields) {
        fields.append(id)
        fields.append(startTime)
        fields.append(thread)
        fields.append(hasAccepted ? 1 : 0)
    }
}

extension LockedFile {
    init?(reading fields: inout ExaminerFields) {
        guard let path = fields.text(), let kind = fields.text().flatMap({ Kind(rawValue: $0) }),
            let isExclusive: Int = fields.number(), let process: Int32 = fields.number()
        else { return nil }
        self.init(path: path, kind: kind, isExclusive: isExclusive == 1, process: process)
    }

    func write(to fields: inout ExaminerFields) {
        fields.append(path)
        fields.append(kind.rawValue)
        fields.append(isExclusive ? 1 : 0)
        fields.append(process)
    }
}
