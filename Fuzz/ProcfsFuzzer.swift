// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

@testable import WatchdogLinux

/// Whatever a file of `/proc` or `/sys/fs/cgroup` holds, in which a process chooses names; and whatever an examiner answers.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzProcfs(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    let text = String(decoding: bytes, as: UTF8.self)
    if let stat = ProcessStat(parsing: bytes) { precondition(stat.id > 0) }
    _ = ProcessStatus(parsing: bytes)
    _ = ThreadSchedule(parsing: bytes)
    _ = ProcessCounters(parsing: bytes)
    _ = StrainGauge.majorFaults(bytes)
    _ = Pressure(parsing: bytes)
    _ = KeyedNumbers(bytes)["nr_throttled"]
    _ = MachineCPU(parsing: bytes, tick: .milliseconds(10))
    _ = SocketTable.entry(bytes, matching: .tcp(.loopback, port: 80))
    _ = SocketTable.entry(bytes, matching: .unix(path: "/x"))
    _ = CgroupMount.parse(mountinfo: text)
    _ = MountPoint(parsing: bytes, leadingTo: "/mnt/x")
    _ = try? NetworkAddress(parsing: text)
    let information = DescriptorInfo(parsing: bytes)
    precondition(information.watched.count <= 4 && information.locks.count <= 8)
    _ = FileLock(parsing: bytes)
    if let call = BlockedCall(parsing: text) { precondition(call.arguments.count == 6 && call.number >= 0) }
    if bytes.count > FutexWord.length + 2 {
        let memory = Array(bytes.dropFirst(2).prefix(FutexWord.length))
        _ = FutexWord(operation: Int32(bytes[0]), expected: UInt32(bytes[1]), memory: memory)?.claim
    }
    var socket: InternetSocket?
    socket = InternetSocket(parsing: bytes)
    _ = socket?.description(protocol: "TCP")
    if let address = InternetSocket.text(ofSocketAddress: bytes) { precondition(address.utf8.count <= 64) }
    checkExamination(bytes)
    return 0
}

/// What an examiner answers, which has read the memory of a hung process.
private func checkExamination(_ bytes: [UInt8]) {
    var fields = ExaminerFields(bytes)
    if let chain = WaitChain(reading: &fields) {
        precondition((1...64).contains(chain.waits.count))
        precondition(chain.cycleStart.map { chain.waits.indices.contains($0) } ?? true)
        var written = ExaminerFields()
        chain.write(to: &written)
        var again = ExaminerFields(written.bytes)
        precondition(WaitChain(reading: &again) == chain)
    }
    fields = ExaminerFields(bytes)
    for lock in fields.list(limit: 8, { LockedFile(reading: &$0) }) ?? [] {
        var written = ExaminerFields()
        lock.write(to: &written)
        var again = ExaminerFields(written.bytes)
        precondition(LockedFile(reading: &again) == lock)
    }
}
