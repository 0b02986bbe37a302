// SPDX-License-Identifier: Apache-2.0

/// Writes records like the kernel: perf_event_open(2), "MMAP layout", and the tracepoints of Linux 6.18.
struct RawRecords {
    static let taskEvent: UInt64 = 1
    static let switchEvent: UInt64 = 2
    static let wakingEvent: UInt64 = 3
    static let callEvent: UInt64 = 4
    static let clockEvent: UInt64 = 5

    static let switchFormat = """
        name: sched_switch
        ID: 372
        format:
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
        \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;

        \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;
        \tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;
        \tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;
        \tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;
        \tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;
        \tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;
        \tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;

        print fmt: "..."
        """
    static let wakingFormat = """
        name: sched_waking
        ID: 375
        format:
        \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
        \tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;
        \tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;
        """
    static let callFormat = "ID: 443\n\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n"

    private(set) var bytes: [UInt8] = []
    var process: Int32 = 100

    mutating func execute(_ time: Int64, _ name: String) {
        add(3, flags: 1 << 13, words(process, process) + text(name, 16), time)
    }

    mutating func map(
        _ time: Int64, _ path: String, at address: UInt64, length: UInt64, protection: UInt32,
        offset: UInt64 = 0, inode: UInt64 = 7
    ) {
        let numbers = bytes(of: address) + bytes(of: length) + bytes(of: offset)
        let file =
            [UInt8](repeating: 0, count: 8) + bytes(of: inode) + [UInt8](repeating: 0, count: 8)
            + bytes(of: protection) + bytes(of: UInt32(2))
        let padded = (path.utf8.count / 8 + 1) * 8
        add(10, words(process, process) + numbers + file + text(path, padded), time)
    }

    mutating func fork(_ time: Int64, thread: Int32) {
        add(7, words(process, process, thread, process) + bytes(of: time), time)
    }

    /// The process creates another one, to which the following records belong.
    mutating func spawn(_ time: Int64, process child: Int32) {
        add(7, words(child, process, child, process) + bytes(of: time), time)
        process = child
    }

    mutating func exit(_ time: Int64, thread: Int32) {
        add(4, words(process, process, thread, process) + bytes(of: time), time)
    }

    mutating func change(_ time: Int64, thread: Int32, isOut: Bool, isPreempted: Bool = false) {
        add(14, flags: (isOut ? 1 << 13 : 0) | (isPreempted ? 1 << 14 : 0), [], time, thread: thread)
    }

    mutating func lose(_ time: Int64, _ count: UInt64) { add(2, bytes(of: UInt64(1)) + bytes(of: count), time) }

    mutating func hit(_ time: Int64, event: UInt64) { sample(event, time, process, []) }

    mutating func schedule(
        _ time: Int64, from previous: Int32, state: Int64, to next: Int32, name: String = "", priority: Int32 = 120
    ) {
        let raw =
            [UInt8](repeating: 0, count: 24) + words(previous, 120) + bytes(of: state) + text(name, 16)
            + words(next, priority)
        sample(Self.switchEvent, time, previous, bytes(of: UInt32(raw.count)) + raw)
    }

    mutating func wake(_ time: Int64, thread: Int32, by waker: Int32, isInterrupt: Bool = false) {
        let raw = [0, 0, isInterrupt ? 0x10 : 0, 0] + [UInt8](repeating: 0, count: 20) + words(thread, 120)
        sample(Self.wakingEvent, time, waker, bytes(of: UInt32(raw.count)) + raw)
    }

    mutating func call(_ time: Int64, thread: Int32, number: Int64) {
        sample(
            Self.callEvent, time, thread, bytes(of: UInt32(16)) + [UInt8](repeating: 0, count: 8) + bytes(of: number))
    }

    mutating func sample(_ time: Int64, stack: [UInt64]) {
        let head = bytes(of: Self.clockEvent) + bytes(of: stack.first ?? 0) + words(process, process) + bytes(of: time)
        write(9, 0, head + words(1, 0) + bytes(of: UInt64(stack.count)) + stack.flatMap { bytes(of: $0) })
    }

    private mutating func sample(_ event: UInt64, _ time: Int64, _ thread: Int32, _ rest: [UInt8]) {
        let head = bytes(of: event) + words(process, thread) + bytes(of: time) + words(1, 0)
        write(9, 0, head + rest)
    }

    private mutating func add(
        _ kind: UInt32, flags: UInt16 = 0, _ payload: [UInt8], _ time: Int64, thread: Int32? = nil
    ) {
        let trailer = words(process, thread ?? process) + bytes(of: time) + words(1, 0) + bytes(of: Self.taskEvent)
        write(kind, flags, payload + trailer)
    }

    private mutating func write(_ kind: UInt32, _ flags: UInt16, _ payload: [UInt8]) {
        bytes += bytes(of: kind) + bytes(of: flags) + bytes(of: UInt16(payload.count + 8)) + payload
    }

    private func words(_ numbers: Int32...) -> [UInt8] { numbers.flatMap { bytes(of: $0) } }

    private func bytes(of number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }

    private func text(_ text: String, _ size: Int) -> [UInt8] {
        Array((Array(text.utf8) + [UInt8](repeating: 0, count: size)).prefix(size))
    }
}
