// SPDX-License-Identifier: Apache-2.0

extension SampledCalls: Codable {
    private enum Key: String, CodingKey { case interval, count, calls }

    /// A call without its callees: the file has a flat list, because a hostile file could nest a tree arbitrarily
    /// deeply.
    private struct FlatCall: Codable {
        var function: String
        var object: String?
        var count: Int
        /// The index of the caller, which comes earlier in the list; nil for an outermost call.
        var caller: Int?
    }

    /// The maximum depth of the tree, over which renderers recurse.
    private static let depthLimit = 512

    /// Decodes what ``encode(to:)`` wrote.
    public init(from decoder: any Decoder) throws {
        let keys = try decoder.container(keyedBy: Key.self)
        let flat = try keys.decode([FlatCall].self, forKey: .calls)
        var depths: [Int] = []
        for (index, call) in flat.enumerated() {
            guard call.count >= 0, (call.caller ?? 0) >= 0, (call.caller ?? -1) < index else {
                throw keys.fault(.calls, "call \(index) has no caller before it")
            }
            depths.append(call.caller.map { depths[$0] + 1 } ?? 0)
            guard depths[index] < Self.depthLimit else { throw keys.fault(.calls, "nested too deeply") }
        }
        // Callees come after their callers, so the last calls are complete first.
        var callees = [[Call]](repeating: [], count: flat.count)
        var roots: [Call] = []
        for (index, call) in flat.enumerated().reversed() {
            let whole = Call(
                function: call.function, object: call.object, count: call.count, callees: callees[index].reversed())
            callees[index] = []
            if let caller = call.caller { callees[caller].append(whole) } else { roots.append(whole) }
        }
        self.init(interval: try keys.time(.interval), count: try keys.count(.count), roots: roots.reversed())
    }

    /// Encodes the tree as a list in which each call names the index of its caller.
    public func encode(to encoder: any Encoder) throws {
        var keys = encoder.container(keyedBy: Key.self)
        try keys.encode(nanoseconds: interval, forKey: .interval)
        try keys.encode(count, forKey: .count)
        var flat: [FlatCall] = []
        var pending = roots.reversed().map { (call: $0, caller: Int?.none, depth: 0) }
        while let (call, caller, depth) = pending.popLast() {
            flat.append(FlatCall(function: call.function, object: call.object, count: call.count, caller: caller))
            guard depth + 1 < Self.depthLimit else { continue }
            let index = flat.count - 1
            pending += call.callees.reversed().map { (call: $0, caller: index, depth: depth + 1) }
        }
        try keys.encode(flat, forKey: .calls)
    }
}
