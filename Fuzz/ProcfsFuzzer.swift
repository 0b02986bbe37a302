// SPDX-License-Identifier: Apache-2.0

// Compiled together with the sources of WatchdogLinux into one module, hence no import of it.

import WatchdogBase

/// Whatever a file of `/proc` or `/sys/fs/cgroup` holds: names in it are chosen by whoever the process is.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzProcfs(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    let text = String(decoding: bytes, as: UTF8.self)
    if let stat = ProcessStat(parsing: bytes) { precondition(stat.id > 0) }
    _ = ProcessStatus(parsing: bytes)
    _ = ThreadSchedule(parsing: bytes)
    _ = MachineCPU(parsing: bytes, tick: .milliseconds(10))
    _ = SocketTable.entry(bytes, matching: .tcp(.loopback, port: 80))
    _ = SocketTable.entry(bytes, matching: .unix(path: "/x"))
    _ = CgroupMount.parse(mountinfo: text)
    _ = MountPoint(parsing: bytes, leadingTo: "/mnt/x")
    _ = try? ListenAddress(parsing: text)
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
    return 0
}
