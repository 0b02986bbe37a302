// SPDX-License-Identifier: Apache-2.0

extension ThreadLane: Codable {
    private enum Key: String, CodingKey {
        case threadID, processID, name, scheduling, begin, end, spans, accounting
    }

    /// Decodes what ``encode(to:)`` wrote.
    public init(from decoder: any Decoder) throws {
        let keys = try decoder.container(keyedBy: Key.self)
        let begin = try keys.time(.begin)
        self.init(
            threadID: try keys.decode(Int32.self, forKey: .threadID),
            processID: try keys.decode(Int32.self, forKey: .processID),
            name: try keys.decode(String.self, forKey: .name),
            scheduling: try keys.decodeIfPresent(ThreadScheduling.self, forKey: .scheduling), begin: begin,
            end: keys.contains(.end) ? try keys.end(.end, of: begin) : nil,
            spans: try keys.decode([LaneSpan].self, forKey: .spans),
            accounting: try keys.decodeIfPresent(ThreadTime.self, forKey: .accounting))
        guard zip(spans, spans.dropFirst()).allSatisfy({ $0.end <= $1.begin }) else {
            throw keys.fault(.spans, "the spans overlap")
        }
    }

    /// Encodes times as nanoseconds.
    public func encode(to encoder: any Encoder) throws {
        var keys = encoder.container(keyedBy: Key.self)
        try keys.encode(threadID, forKey: .threadID)
        try keys.encode(processID, forKey: .processID)
        try keys.encode(name, forKey: .name)
        try keys.encodeIfPresent(scheduling, forKey: .scheduling)
        try keys.encode(nanoseconds: begin, forKey: .begin)
        try keys.encode(nanoseconds: end, forKey: .end)
        try keys.encode(spans, forKey: .spans)
        try keys.encodeIfPresent(accounting, forKey: .accounting)
    }
}

extension LaneSpan: Codable {
    private enum Key: String, CodingKey { case state, begin, end, detail, waker, processor }

    /// Decodes what ``encode(to:)`` wrote.
    public init(from decoder: any Decoder) throws {
        let keys = try decoder.container(keyedBy: Key.self)
        let begin = try keys.time(.begin)
        self.init(
            state: try keys.decode(State.self, forKey: .state), begin: begin, end: try keys.end(.end, of: begin),
            detail: try keys.decodeIfPresent(String.self, forKey: .detail),
            waker: try keys.decodeIfPresent(Waker.self, forKey: .waker),
            processor: keys.contains(.processor) ? try keys.count(.processor) : nil)
    }

    /// Encodes times as nanoseconds.
    public func encode(to encoder: any Encoder) throws {
        var keys = encoder.container(keyedBy: Key.self)
        try keys.encode(state, forKey: .state)
        try keys.encode(nanoseconds: begin, forKey: .begin)
        try keys.encode(nanoseconds: end, forKey: .end)
        try keys.encodeIfPresent(detail, forKey: .detail)
        try keys.encodeIfPresent(waker, forKey: .waker)
        try keys.encodeIfPresent(processor, forKey: .processor)
    }
}

extension Waker: Codable {
    private enum Key: String, CodingKey { case threadID, name, nice, isOwn }

    /// Decodes what ``encode(to:)`` wrote: an empty object is an interrupt.
    public init(from decoder: any Decoder) throws {
        let keys = try decoder.container(keyedBy: Key.self)
        guard let id = try keys.decodeIfPresent(Int32.self, forKey: .threadID) else {
            self = .interrupt
            return
        }
        self = .thread(
            id: id, name: try keys.decode(String.self, forKey: .name),
            nice: try keys.decodeIfPresent(Int.self, forKey: .nice), isOwn: try keys.decode(Bool.self, forKey: .isOwn))
    }

    /// Encodes a thread's keys, or an empty object for an interrupt.
    public func encode(to encoder: any Encoder) throws {
        var keys = encoder.container(keyedBy: Key.self)
        guard case .thread(let id, let name, let nice, let isOwn) = self else { return }
        try keys.encode(id, forKey: .threadID)
        try keys.encode(name, forKey: .name)
        try keys.encodeIfPresent(nice, forKey: .nice)
        try keys.encode(isOwn, forKey: .isOwn)
    }
}
