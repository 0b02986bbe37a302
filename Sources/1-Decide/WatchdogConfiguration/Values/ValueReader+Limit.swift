// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

extension ValueReader {
    /// `soft:hard`, or one value for both; each may be `infinity`.
    static func limit(_ text: SourceText, on resource: LimitedResource) throws(ValueError) -> ProcessLimit {
        guard let colon = text.firstIndex(of: UInt8(ascii: ":")) else {
            let value = try limitValue(text, of: resource)
            return ProcessLimit(resource, soft: value, hard: value)
        }
        let soft = try limitValue(text[0..<colon], of: resource)
        let hard: UInt64
        do throws(ValueError) {
            hard = try limitValue(text.from(colon + 1), of: resource)
        } catch {
            var moved = error
            moved.offset += colon + 1
            throw moved
        }
        guard soft <= hard else {
            throw ValueError(message: "the soft limit is above the hard limit", length: text.count)
        }
        return ProcessLimit(resource, soft: soft, hard: hard)
    }

    private static func limitValue(_ text: SourceText, of resource: LimitedResource) throws(ValueError) -> UInt64 {
        guard !text.isEmpty else {
            throw ValueError(message: "a value is missing; write soft:hard or one value for both")
        }
        guard try short(text) != "infinity" else { return ProcessLimit.infinity }
        switch resource {
        case .fileSize, .data, .stack, .core, .residentSet, .addressSpace, .lockedMemory, .messageQueues:
            return try size(text)
        case .openFiles, .processes, .locks, .pendingSignals, .realTimePriority:
            return try count(text)
        case .cpu:
            // Round up: the kernel counts whole seconds, and the limit must not be lower than requested.
            return UInt64((try span(text).nanoseconds + 999_999_999) / 1_000_000_000)
        case .realTimeWithoutSleep:
            return UInt64((try span(text).nanoseconds + 999) / 1_000)
        case .niceness:
            guard let sign = text.bytes.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") else {
                return UInt64(try integer(text, in: 0...40))
            }
            return UInt64(20 - (try integer(text, in: -20...19, signed: true)))
        }
    }
}
