// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

extension LaunchRecording: Codable {
    private enum Key: String, CodingKey {
        case format, version, program, host, requested, ladder, phases, marks, end, objects, lanes, samples, resources
        case lostRecords, notes, constructors
    }

    /// Decodes what ``encode(to:)`` wrote; see ``RecordingCoding``.
    public init(from decoder: any Decoder) throws {
        let keys = try decoder.container(keyedBy: Key.self)
        guard try keys.decodeIfPresent(String.self, forKey: .format) == RecordingCoding.format else {
            throw RecordingCodingError(
                .notARecording, "not a recording: the key \"format\" is not \"watchdogd-launch\"")
        }
        let version = try keys.decode(Int.self, forKey: .version)
        guard version <= RecordingCoding.version else {
            throw RecordingCodingError(
                .newerVersion,
                "the recording has version \(version), this watchdogd reads up to \(RecordingCoding.version);"
                    + " use the watchdogd that recorded it, or a newer one")
        }
        self.init(
            program: try keys.decode(LaunchedProgram.self, forKey: .program),
            host: try keys.decode(RecordingHost.self, forKey: .host),
            requested: try Self.requested(keys),
            ladder: try keys.decode([RungAttempt].self, forKey: .ladder),
            phases: try keys.decode([LaunchPhase].self, forKey: .phases),
            marks: try keys.decode([LaunchMark].self, forKey: .marks),
            end: try keys.decode(LaunchEnd.self, forKey: .end),
            objects: try keys.decode([LoadedObject].self, forKey: .objects),
            constructors: try keys.decodeIfPresent([LaunchConstructor].self, forKey: .constructors),
            lanes: try keys.decode([ThreadLane].self, forKey: .lanes),
            samples: try keys.decodeIfPresent(SampledCalls.self, forKey: .samples),
            resources: try keys.decode(LaunchResources.self, forKey: .resources),
            lostRecords: try keys.count(.lostRecords),
            notes: try keys.decode([String].self, forKey: .notes)
        )
        guard zip(phases, phases.dropFirst()).allSatisfy({ $0.end <= $1.begin }) else {
            throw keys.fault(.phases, "the phases overlap")
        }
    }

    private static func requested(_ keys: KeyedDecodingContainer<Key>) throws -> WallTime {
        let time = try keys.decode(WallTime.self, forKey: .requested)
        guard abs(Int(time.utcOffset)) <= 86_400, (0...999_999_999).contains(time.nanoseconds) else {
            throw keys.fault(.requested, "not a date and time")
        }
        return time
    }

    /// Encodes all parts; see ``RecordingCoding``.
    public func encode(to encoder: any Encoder) throws {
        var keys = encoder.container(keyedBy: Key.self)
        try keys.encode(RecordingCoding.format, forKey: .format)
        try keys.encode(RecordingCoding.version, forKey: .version)
        try keys.encode(program, forKey: .program)
        try keys.encode(host, forKey: .host)
        try keys.encode(requested, forKey: .requested)
        try keys.encode(ladder, forKey: .ladder)
        try keys.encode(phases, forKey: .phases)
        try keys.encode(marks, forKey: .marks)
        try keys.encode(end, forKey: .end)
        try keys.encode(objects, forKey: .objects)
        try keys.encodeIfPresent(constructors, forKey: .constructors)
        try keys.encode(lanes, forKey: .lanes)
        try keys.encodeIfPresent(samples, forKey: .samples)
        try keys.encode(resources, forKey: .resources)
        try keys.encode(lostRecords, forKey: .lostRecords)
        try keys.encode(notes, forKey: .notes)
    }
}

extension LaunchResources: Codable {
    private enum Key: String, CodingKey { case user, system, minorFaults, majorFaults, bytesRead, peakMemory }

    /// Decodes what ``encode(to:)`` wrote.
    public init(from decoder: any Decoder) throws {
        let keys = try decoder.container(keyedBy: Key.self)
        self.init(
            user: try keys.time(.user), system: try keys.time(.system), minorFaults: try keys.count(.minorFaults),
            majorFaults: try keys.count(.majorFaults), bytesRead: try keys.count(.bytesRead),
            peakMemory: try keys.count(.peakMemory))
    }

    /// Encodes times as nanoseconds.
    public func encode(to encoder: any Encoder) throws {
        var keys = encoder.container(keyedBy: Key.self)
        try keys.encode(nanoseconds: user, forKey: .user)
        try keys.encode(nanoseconds: system, forKey: .system)
        try keys.encode(minorFaults, forKey: .minorFaults)
        try keys.encode(majorFaults, forKey: .majorFaults)
        try keys.encode(bytesRead, forKey: .bytesRead)
        try keys.encode(peakMemory, forKey: .peakMemory)
    }
}
