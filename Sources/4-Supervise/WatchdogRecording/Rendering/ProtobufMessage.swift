// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogRendering

/// A protobuf message under construction: https://protobuf.dev/programming-guides/encoding/.
struct ProtobufMessage {
    private(set) var bytes: [UInt8] = []

    /// Appends a varint field; negative numbers take ten bytes, as protobuf's int32 and int64 do.
    mutating func number(_ field: UInt64, _ value: Int64) {
        varint(field << 3)
        varint(UInt64(bitPattern: value))
    }

    mutating func text(_ field: UInt64, _ value: String) { append(field, Array(value.utf8)) }

    mutating func message(_ field: UInt64, _ value: ProtobufMessage) { append(field, value.bytes) }

    /// Appends a message that is built in place.
    mutating func message(_ field: UInt64, _ build: (inout ProtobufMessage) -> Void) {
        var message = ProtobufMessage()
        build(&message)
        self.message(field, message)
    }

    private mutating func append(_ field: UInt64, _ value: [UInt8]) {
        varint(field << 3 | 2)
        varint(UInt64(value.count))
        bytes += value
    }

    private mutating func varint(_ value: UInt64) {
        var rest = value
        while rest > 127 {
            bytes.append(UInt8(rest & 127) | 128)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }
}
