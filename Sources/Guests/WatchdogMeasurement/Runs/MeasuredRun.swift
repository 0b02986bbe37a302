// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The measurements of one launch, from the request to its end.
public struct MeasuredRun: Equatable, Sendable {
    /// The program that ran.
    public var program: MeasuredProgram
    /// The position among the runs, or pairs, that count; 0 and below for those that are discarded at the beginning.
    public var number: Int
    /// The time from the request to the end of the launch.
    public var wall: Duration
    /// The CPU time of the program until then, including children that it has waited for.
    public var cpu: Duration
    /// The number of instructions that the program and its descendants executed in user mode; nil if unknown.
    public var instructions: Int64?
    /// The number of page faults without I/O.
    public var minorFaults: Int64
    /// The number of page faults with I/O.
    public var majorFaults: Int64
    /// The number of bytes that the kernel read from disks for the program.
    public var readBytes: Int64
    /// The number of bytes of the program's files that stayed in memory before a cold run; nil for other runs, or if
    /// unknown.
    public var residentBytes: Int64?

    /// Creates a run; counters are zero by default.
    public init(
        program: MeasuredProgram = .new, number: Int, wall: Duration, cpu: Duration, instructions: Int64? = nil,
        minorFaults: Int64 = 0, majorFaults: Int64 = 0, readBytes: Int64 = 0, residentBytes: Int64? = nil
    ) {
        self.program = program
        self.number = number
        self.wall = wall
        self.cpu = cpu
        self.instructions = instructions
        self.minorFaults = minorFaults
        self.majorFaults = majorFaults
        self.readBytes = readBytes
        self.residentBytes = residentBytes
    }

    /// Whether the run was discarded as one of the first.
    public var isDiscarded: Bool { number < 1 }

    /// Whether the run read nothing from a disk.
    public var isWarm: Bool { readBytes == 0 && majorFaults == 0 }

    /// The reason why the run does not count; nil if it does.
    ///
    /// - Parameter isCold: Whether the files were evicted before the run.
    public func exclusion(isCold: Bool) -> RunExclusion? {
        if isDiscarded { return .discarded }
        if isCold { return readBytes == 0 ? .notCold : nil }
        return isWarm ? nil : .notWarm(readBytes: readBytes, majorFaults: majorFaults)
    }
}

/// The reason why a run does not count.
public enum RunExclusion: Equatable, Sendable, CustomStringConvertible {
    /// It is one of the first, which are discarded.
    case discarded
    /// It read from a disk.
    case notWarm(readBytes: Int64, majorFaults: Int64)
    /// It should have been cold, but read nothing from a disk.
    case notCold

    /// "not warm: 12.0 MiB read; excluded".
    public var description: String {
        switch self {
        case .discarded: "discarded"
        case .notWarm(let bytes, let faults):
            "not warm: "
                + (bytes > 0
                    ? "\(FigureText.bytes(bytes)) read" : faults.counted("major fault"))
                + "; excluded"
        case .notCold: "not cold: nothing was read; excluded"
        }
    }
}

extension MeasuredRun: Codable {
    private enum CodingKeys: String, CodingKey {
        case program, number, wallNSec, cpuNSec, instructions, minorFaults, majorFaults, readBytes, residentBytes
    }

    /// Decodes a run from the form of ``encode(to:)``.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            program: try values.decode(MeasuredProgram.self, forKey: .program),
            number: try values.decode(Int.self, forKey: .number),
            wall: .nanoseconds(try values.decode(Int64.self, forKey: .wallNSec)),
            cpu: .nanoseconds(try values.decode(Int64.self, forKey: .cpuNSec)),
            instructions: try values.decodeIfPresent(Int64.self, forKey: .instructions),
            minorFaults: try values.decode(Int64.self, forKey: .minorFaults),
            majorFaults: try values.decode(Int64.self, forKey: .majorFaults),
            readBytes: try values.decode(Int64.self, forKey: .readBytes),
            residentBytes: try values.decodeIfPresent(Int64.self, forKey: .residentBytes)
        )
    }

    /// Encodes times as whole nanoseconds.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(program, forKey: .program)
        try values.encode(number, forKey: .number)
        try values.encode(wall.nanoseconds, forKey: .wallNSec)
        try values.encode(cpu.nanoseconds, forKey: .cpuNSec)
        try values.encodeIfPresent(instructions, forKey: .instructions)
        try values.encode(minorFaults, forKey: .minorFaults)
        try values.encode(majorFaults, forKey: .majorFaults)
        try values.encode(readBytes, forKey: .readBytes)
        try values.encodeIfPresent(residentBytes, forKey: .residentBytes)
    }
}
