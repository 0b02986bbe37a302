// SPDX-License-Identifier: Apache-2.0

/// Writes the bytes of a snapshot, well-formed or not.
struct SnapshotBuilder {
    static let maps = """
        55d0c0000000-55d0c0001000 r--p 00000000 fe:00 1234                       /usr/bin/app
        55d0c0001000-55d0c0002000 r-xp 00001000 fe:00 1234                       /usr/bin/app
        7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          [stack]

        """

    private(set) var bytes: [UInt8] = []

    init(magic: UInt64 = 0x0031_504e_5347_4457, version: UInt32 = 1) {
        append(magic)
        append(version)
        append(UInt32(0))
    }

    /// A snapshot with one record of every kind.
    static var complete: SnapshotBuilder {
        var builder = SnapshotBuilder()
        builder.process()
        builder.record(2, Array(maps.utf8))
        builder.thread(100)
        builder.thread(101)
        builder.memory(4, address: 0x7ffc_0000_1000, owner: 101, bytes: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
        builder.memory(5, address: 0x7ffc_0003_0000, owner: 0, bytes: [0x7F])
        builder.record(6, words(0x1000, 0, 0x55d0_c000_1000))
        builder.module(start: 0x55d0_c000_0000, descriptor: 0, path: "/usr/bin/app")
        return builder
    }

    mutating func append<Number: FixedWidthInteger>(_ number: Number) {
        bytes += Self.bytes(of: number)
    }

    mutating func record(_ kind: UInt32, _ payload: [UInt8], length: UInt64? = nil) {
        append(kind)
        append(UInt32(0))
        append(length ?? UInt64(payload.count))
        bytes += payload
        bytes += [UInt8](repeating: 0, count: (8 - bytes.count % 8) % 8)
    }

    mutating func process(_ lines: String = "PID=100\nSTART_TIME=7\nUID=1\nPPID=2\nCOMM=app\nMETHOD=ptrace\nNEW=x\n") {
        record(1, Array(lines.utf8))
    }

    mutating func thread(_ id: Int32, source: UInt8 = 1, name: [UInt8] = Array("worker".utf8)) {
        var payload = Self.bytes(of: id) + [UInt8(ascii: "S"), source, 0, 0]
        for register in 0..<23 {
            payload += Self.bytes(of: UInt64(register) + 1000)
        }
        for number in 1...7 {
            payload += Self.bytes(of: UInt64(number))
        }
        payload += Self.text(name, 16)
        payload += Self.text(Array("futex_wait".utf8), 64)
        payload += Self.text(Array("202 0x1 0x2".utf8), 192)
        payload += Self.text(Array("[<0>] futex_wait+0x1/0x2".utf8), 1024)
        record(3, payload)
    }

    mutating func memory(_ kind: UInt32, address: UInt64, owner: UInt64, bytes: [UInt8]) {
        record(kind, Self.words(address, owner) + bytes)
    }

    mutating func module(start: UInt64, descriptor: UInt32, path: String, length: UInt32? = nil) {
        let path = Array(path.utf8)
        record(
            7, Self.bytes(of: start) + Self.bytes(of: descriptor) + Self.bytes(of: length ?? UInt32(path.count)) + path)
    }

    static func words(_ words: UInt64...) -> [UInt8] {
        words.flatMap { bytes(of: $0) }
    }

    static func bytes<Number: FixedWidthInteger>(of number: Number) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }

    /// A field of a fixed size; without NUL if it is full.
    private static func text(_ text: [UInt8], _ size: Int) -> [UInt8] {
        Array(text.prefix(size)) + [UInt8](repeating: 0, count: max(0, size - text.count))
    }
}
