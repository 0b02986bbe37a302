// SPDX-License-Identifier: Apache-2.0

extension LaunchPhase: Codable {
    private enum Key: String, CodingKey { case kind, begin, end, time, isComplete, stopped, samples }

    /// Decodes what ``encode(to:)`` wrote.
    public init(from decoder: any Decoder) throws {
        let keys = try decoder.container(keyedBy: Key.self)
        let begin = try keys.time(.begin)
        self.init(
            kind: try keys.decode(Kind.self, forKey: .kind), begin: begin, end: try keys.end(.end, of: begin),
            time: try keys.decodeIfPresent(ThreadTime.self, forKey: .time),
            isComplete: try keys.decode(Bool.self, forKey: .isComplete),
            stopped: try keys.timeIfPresent(.stopped) ?? .zero,
            samples: try keys.decodeIfPresent(SampledCalls.self, forKey: .samples))
    }

    /// Encodes times as nanoseconds.
    public func encode(to encoder: any Encoder) throws {
        var keys = encoder.container(keyedBy: Key.self)
        try keys.encode(kind, forKey: .kind)
        try keys.encode(nanoseconds: begin, forKey: .begin)
        try keys.encode(nanoseconds: end, forKey: .end)
        try keys.encodeIfPresent(time, forKey: .time)
        try keys.encode(isComplete, forKey: .isComplete)
        if stopped > .zero { try keys.encode(nanoseconds: stopped, forKey: .stopped) }
        try keys.encodeIfPresent(samples, forKey: .samples)
    }
}

extension ThreadTime: Codable {
    private enum Key: String, CodingKey { case running, waiting, blocked }

    /// Decodes what ``encode(to:)`` wrote.
    public init(from decoder: any Decoder) throws {
        let keys = try decoder.container(keyedBy: Key.self)
        self.init(
            running: try keys.time(.running), waiting: try keys.time(.waiting), blocked: try keys.time(.blocked))
    }

    /// Encodes times as nanoseconds.
    public func encode(to encoder: any Encoder) throws {
        var keys = encoder.container(keyedBy: Key.self)
        try keys.encode(nanoseconds: running, forKey: .running)
        try keys.encode(nanoseconds: waiting, forKey: .waiting)
        try keys.encode(nanoseconds: blocked, forKey: .blocked)
    }
}

extension LaunchMark: Codable {
    private enum Key: String, CodingKey { case kind, time, name }

    /// Decodes what ``encode(to:)`` wrote.
    public init(from decoder: any Decoder) throws {
        let keys = try decoder.container(keyedBy: Key.self)
        self.init(
            kind: try keys.decode(Kind.self, forKey: .kind), time: try keys.time(.time),
            name: try keys.decodeIfPresent(String.self, forKey: .name))
    }

    /// Encodes times as nanoseconds.
    public func encode(to encoder: any Encoder) throws {
        var keys = encoder.container(keyedBy: Key.self)
        try keys.encode(kind, forKey: .kind)
        try keys.encode(nanoseconds: time, forKey: .time)
        try keys.encodeIfPresent(name, forKey: .name)
    }
}

extension LaunchEnd: Codable {
    private enum Key: String, CodingKey { case kind, time, code }

    /// Decodes what ``encode(to:)`` wrote.
    public init(from decoder: any Decoder) throws {
        let keys = try decoder.container(keyedBy: Key.self)
        self.init(
            kind: try keys.decode(Kind.self, forKey: .kind), time: try keys.time(.time),
            code: try keys.decodeIfPresent(Int32.self, forKey: .code))
    }

    /// Encodes times as nanoseconds.
    public func encode(to encoder: any Encoder) throws {
        var keys = encoder.container(keyedBy: Key.self)
        try keys.encode(kind, forKey: .kind)
        try keys.encode(nanoseconds: time, forKey: .time)
        try keys.encodeIfPresent(code, forKey: .code)
    }
}

extension LoadedObject: Codable {
    private enum Key: String, CodingKey { case path, mapped, mapping, relocation, size, isUsed, isLate }

    /// Decodes what ``encode(to:)`` wrote.
    public init(from decoder: any Decoder) throws {
        let keys = try decoder.container(keyedBy: Key.self)
        self.init(
            path: try keys.decode(String.self, forKey: .path), mapped: try keys.time(.mapped),
            mapping: try keys.timeIfPresent(.mapping), relocation: try keys.timeIfPresent(.relocation),
            size: try keys.count(.size), isUsed: try keys.decodeIfPresent(Bool.self, forKey: .isUsed),
            isLate: try keys.decode(Bool.self, forKey: .isLate))
    }

    /// Encodes times as nanoseconds.
    public func encode(to encoder: any Encoder) throws {
        var keys = encoder.container(keyedBy: Key.self)
        try keys.encode(path, forKey: .path)
        try keys.encode(nanoseconds: mapped, forKey: .mapped)
        try keys.encode(nanoseconds: mapping, forKey: .mapping)
        try keys.encode(nanoseconds: relocation, forKey: .relocation)
        try keys.encode(size, forKey: .size)
        try keys.encodeIfPresent(isUsed, forKey: .isUsed)
        try keys.encode(isLate, forKey: .isLate)
    }
}

extension LaunchConstructor: Codable {
    private enum Key: String, CodingKey { case object, function, offset, isOwn, begin, end, time, isComplete }

    /// Decodes what ``encode(to:)`` wrote.
    public init(from decoder: any Decoder) throws {
        let keys = try decoder.container(keyedBy: Key.self)
        let begin = try keys.time(.begin)
        self.init(
            object: try keys.decode(String.self, forKey: .object),
            function: try keys.decodeIfPresent(String.self, forKey: .function),
            offset: UInt64(try keys.count(.offset)), isOwn: try keys.decode(Bool.self, forKey: .isOwn), begin: begin,
            end: try keys.end(.end, of: begin), time: try keys.decodeIfPresent(ThreadTime.self, forKey: .time),
            isComplete: try keys.decode(Bool.self, forKey: .isComplete))
    }

    /// Encodes times as nanoseconds.
    public func encode(to encoder: any Encoder) throws {
        var keys = encoder.container(keyedBy: Key.self)
        try keys.encode(object, forKey: .object)
        try keys.encodeIfPresent(function, forKey: .function)
        try keys.encode(offset, forKey: .offset)
        try keys.encode(isOwn, forKey: .isOwn)
        try keys.encode(nanoseconds: begin, forKey: .begin)
        try keys.encode(nanoseconds: end, forKey: .end)
        try keys.encodeIfPresent(time, forKey: .time)
        try keys.encode(isComplete, forKey: .isComplete)
    }
}
